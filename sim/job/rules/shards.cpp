// Checks that heads, MLP width and sequence divide over the ranks that share a layer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

/// Returns tensor degrees up to twice the stated one that divide heads and MLP width.
Advice tensor_degrees(const model::Transformer& model, int degree) {
  return {numbers_that_work(
      "", std::min<std::int64_t>(model.heads, 2 * std::int64_t{degree}),
      [&](std::int64_t tensor) { return tensor_divides(model, tensor); }, set_degree(Axis::kTensor))};
}

constexpr std::int64_t kLongestSequence = 1 << 27;  // as long as a scenario may state it

void set_sequence(Question& question, std::int64_t value) { question.choices.batch.sequence_length = value; }

bool context_divides(std::int64_t sequence, std::int64_t context) {
  return context == 1 || sequence % (2 * context) == 0;
}

void check_exchange(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  const Parallelism& degrees = draft.job.parallelism;
  const std::int64_t ranks = std::int64_t{degrees.tensor} * degrees.context;
  const bool deals_heads = degrees.context > 1 && degrees.exchange == model::ContextExchange::kAllToAll;
  if (!deals_heads || (model.heads % ranks == 0 && model.kv_heads % ranks == 0)) return;
  draft.complain("/parallelism/context_exchange",
                 fmt::format("expected \"ring\" or \"all-gather\": all-to-all deals {} and {} out to "
                             "tensor {} x context {} = {} ranks",
                             with_noun(model.heads, "head"), with_noun(model.kv_heads, "key-value head"),
                             degrees.tensor, degrees.context, ranks));
}

}  // namespace

bool tensor_divides(const model::Transformer& model, std::int64_t tensor) {
  const bool shared = !model.experts || model.experts->shared_width % tensor == 0;
  return model.heads % tensor == 0 && (!has_mlp(model) || model.ffn_hidden % tensor == 0) && shared;
}

bool sequence_fits(const Question& question, Axis axis, std::int64_t degree) {
  if (axis != Axis::kContext || degree == 1) return true;
  if (question.model.encoder_decoder) return false;
  const AttentionChoice attention = question.attention.value_or(question.runtime.default_attention);
  return attention.kind == model::AttentionKind::kFlash &&
         context_divides(question.choices.batch.sequence_length, degree);
}

bool sequence_divides(std::int64_t sequence, std::int64_t context, std::int64_t tensor) {
  return sequence / context % tensor == 0;
}

bool pipeline_allows(int zero_stage, std::int64_t pipeline) { return zero_stage < 2 || pipeline == 1; }

void check_shards(Draft& draft) {
  const int tensor = draft.job.parallelism.tensor;
  const int expert = draft.question.choices.parallelism.degrees[Axis::kExpert].value_or(1);
  const model::Transformer& model = draft.job.model;
  const char* const pointer = "/parallelism/tensor";
  const auto advice = [&] { return tensor_degrees(model, tensor); };
  if (model.heads % tensor != 0)
    draft.complain(
        pointer,
        fmt::format("expected a divisor of the model's {}, found {}", with_noun(model.heads, "attention head"), tensor),
        advice);
  if (model.kv_heads != model.heads && model.kv_heads % tensor != 0 && tensor % model.kv_heads != 0)
    draft.complain(pointer,
                   fmt::format("expected a divisor or a multiple of the model's {} key-value heads, found {}",
                               model.kv_heads, tensor),
                   advice);
  if (has_mlp(model) && model.ffn_hidden % tensor != 0)
    draft.complain(pointer,
                   fmt::format("expected a divisor of the model's MLP width {}, found {}", model.ffn_hidden, tensor),
                   advice);
  check_exchange(draft);
  if (model.experts && model.experts->shared_width % tensor != 0)
    draft.complain(pointer,
                   fmt::format("expected a divisor of the shared experts' width {}, found {}",
                               model.experts->shared_width, tensor),
                   advice);
  if (expert > 1 && !model.experts)
    draft.complain("/parallelism/expert",
                   fmt::format("expected 1: model {} is dense, found {}", in_quotes(model.name), expert));
}

void check_sequence(Draft& draft) {
  const std::int64_t sequence = draft.job.batch.sequence_length;
  const Parallelism& degrees = draft.job.parallelism;
  const char* const pointer = "/batch/sequence_length";
  if (!context_divides(sequence, degrees.context)) {
    const std::int64_t unit = 2 * std::int64_t{degrees.context};
    draft.complain(pointer,
                   fmt::format("expected a multiple of 2 x context {} = {}, found {}", degrees.context, unit, sequence),
                   [&] { return multiples_near(sequence, unit, kLongestSequence, set_sequence); });
  } else if (degrees.sequence_parallel && !sequence_divides(sequence, degrees.context, degrees.tensor)) {
    draft.complain(pointer,
                   fmt::format("with sequence_parallel, expected a multiple of context {} x tensor {}, "
                               "found {}",
                               degrees.context, degrees.tensor, sequence),
                   [&] {
                     return multiples_near(sequence, std::int64_t{degrees.context} * degrees.tensor, kLongestSequence,
                                           set_sequence);
                   });
  }
}

void check_attention(Draft& draft) {
  const int context = draft.job.parallelism.context;
  const model::Transformer& model = draft.job.model;
  if (context > 1 && model.local.window > 0)
    draft.complain("/parallelism/context", fmt::format("expected 1: model {} has layers of local attention, found {}",
                                                       in_quotes(model.name), context));
  if (context == 1 || model.encoder_decoder || draft.job.attention == model::AttentionKind::kFlash) return;
  draft.complain("/attention", fmt::format("expected \"flash\": context {} is supported with it only", context));
}

void check_positions(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  const std::int64_t sequence = draft.job.batch.sequence_length;
  if (model.positions == model::Positions::kLearned && sequence > model.max_positions)
    draft.complain("/batch/sequence_length",
                   fmt::format("expected at most {}, the learned positions of model {}, found {}", model.max_positions,
                               in_quotes(model.name), sequence));
  if (model.attention_window > 0 && sequence > model.attention_window)
    draft.complain("/batch/sequence_length",
                   fmt::format("expected at most {}, the attention window of model {}, found {}: sliding-window "
                               "attention is not supported; try --set model.sliding_window=null (full attention)",
                               model.attention_window, in_quotes(model.name), sequence));
}

void check_sharding(Draft& draft) {
  const int stage = draft.job.optimizer.zero_stage, pipeline = draft.job.parallelism.pipeline;
  if (pipeline_allows(stage, pipeline)) return;
  draft.complain("/optimizer/zero_stage",
                 fmt::format("expected 0 or 1 with pipeline {}, found {}: gradients and parameters are "
                             "sharded without a pipeline only",
                             pipeline, stage),
                 [] {
                   return Advice{numbers_that_work(
                       "parallelism.pipeline", 1, [](std::int64_t) { return true; }, set_degree(Axis::kPipeline))};
                 });
}

}  // namespace foretoken::job

// Checks encoder-decoders: lengths, pipeline and attention of both halves.
#include <fmt/format.h>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

constexpr const char* kDecoderLength = "/batch/decoder_sequence_length";
constexpr const char* kEncoderStages = "/parallelism/encoder_pipeline";

// Keys of an encoder-decoder beside another model.
void refuse_keys_of_two_halves(Draft& draft) {
  const std::string name = in_quotes(draft.job.model.name);
  const auto refuse = [&](const char* pointer) {
    draft.complain(pointer, fmt::format("expected only for an encoder-decoder, found it for {}; remove it", name));
  };
  if (draft.job.batch.decoder_sequence_length) refuse(kDecoderLength);
  if (draft.job.parallelism.encoder_pipeline) refuse(kEncoderStages);
}

void check_decoder_length(Draft& draft) {
  const Job& job = draft.job;
  if (!job.batch.decoder_sequence_length)
    draft.notes.assumptions.push_back(
        fmt::format("the decoder's sequence is as long as the encoder's, {} tokens; batch.decoder_sequence_length "
                    "states another",
                    job.batch.sequence_length));
  const std::int64_t length = job.batch.decoder_sequence_length.value_or(job.batch.sequence_length);
  const model::Transformer& model = job.model;
  if (model.positions == model::Positions::kLearned && length > model.max_positions)
    draft.complain(kDecoderLength, fmt::format("expected at most {}, the learned positions of model {}, found {}",
                                               model.max_positions, in_quotes(model.name), length));
  if (job.parallelism.sequence_parallel && length % job.parallelism.tensor != 0)
    draft.complain(kDecoderLength, fmt::format("with sequence_parallel, expected a multiple of tensor {}, found {}",
                                               job.parallelism.tensor, length));
}

// The software that trains encoder-decoders in a pipeline has one chunk a stage and 1F1B (Megatron-LM 23.04,
// megatron/core/pipeline_parallel/schedules.py: "Interleaving is not supported with an encoder and decoder model").
void check_pipeline_of_halves(Draft& draft) {
  const Parallelism& parallel = draft.job.parallelism;
  const std::string name = in_quotes(draft.job.model.name);
  if (parallel.virtual_pipeline > 1)
    draft.complain("/parallelism/virtual_pipeline",
                   fmt::format("expected 1: stages of encoder-decoder {} hold one chunk, found {}", name,
                               parallel.virtual_pipeline));
  if (parallel.embedding_and_head_as_layers)
    draft.complain("/parallelism/embedding_and_head_as_layers",
                   fmt::format("expected false: the halves of encoder-decoder {} are dealt out apart", name));
  if (!draft.job.groups.empty())
    draft.complain("/cluster", fmt::format("expected nodes of one kind for encoder-decoder {}", name));
  const int stages = parallel.encoder_pipeline.value_or(1);
  if (parallel.encoder_pipeline && !parallel.layers_per_stage.empty())
    draft.complain(kEncoderStages, "expected only without layers_per_stage, whose numbers say where the encoder ends");
  if (parallel.pipeline == 1 && parallel.encoder_pipeline)
    draft.complain(kEncoderStages,
                   fmt::format("expected only with pipeline of at least 2, found {}; remove it", stages));
  else if (parallel.pipeline > 1 && (stages < 1 || stages >= parallel.pipeline))
    draft.complain(kEncoderStages,
                   fmt::format("expected {}, so that the decoder has a stage of pipeline {}, found {}",
                               parallel.pipeline == 2 ? "1" : fmt::format("1 to {}", parallel.pipeline - 1),
                               parallel.pipeline, stages));
  if (parallel.pipeline > 1 && !parallel.encoder_pipeline && parallel.layers_per_stage.empty())
    draft.notes.assumptions.push_back(
        fmt::format("the encoder has {} of {} stages; parallelism.encoder_pipeline states another number",
                    encoder_stages(parallel), parallel.pipeline));
}

void check_attention_of_halves(Draft& draft) {
  const Job& job = draft.job;
  const std::string name = in_quotes(job.model.name);
  if (job.parallelism.context > 1)
    draft.complain("/parallelism/context",
                   fmt::format("expected 1: model {} has cross-attention, whose keys are not of "
                               "the queries' sequence, found {}",
                               name, job.parallelism.context));
  if (job.model.encoder_decoder->relative() && job.attention != model::AttentionKind::kUnfused)
    draft.complain("/attention",
                   fmt::format("expected \"unfused\": model {} adds relative positions to its scores, which fused "
                               "kernels do not read, found {}",
                               name, in_quotes(model::name_of(job.attention, job.flash_kernel))));
}

}  // namespace

std::optional<std::string> why_halves_do_not_split(const Job& job) {
  const Parallelism& parallel = job.parallelism;
  const int before = encoder_stages(parallel), behind = parallel.pipeline - before;
  if (before < 1 || behind < 1 || parallel.virtual_pipeline > 1) return std::nullopt;  // another rule says it
  const std::int64_t decoder = job.model.layers - parallel.encoder_layers;
  if (parallel.encoder_layers % before != 0)
    return fmt::format("expected a divisor of the encoder's {}, found {}", with_noun(parallel.encoder_layers, "layer"),
                       before);
  return fmt::format("expected to leave a divisor of the decoder's {}, found {}, which leaves {} of pipeline {}",
                     with_noun(decoder, "layer"), before, with_noun(behind, "stage"), parallel.pipeline);
}

void check_halves(Draft& draft) {
  if (!draft.job.model.encoder_decoder) return refuse_keys_of_two_halves(draft);
  check_decoder_length(draft);
  check_pipeline_of_halves(draft);
  check_attention_of_halves(draft);
  if (draft.job.batch.packed)
    draft.complain("/batch/packed", fmt::format("expected only for one sequence a sample: halves of encoder-decoder {} "
                                                "are not packed, found {}; remove it",
                                                in_quotes(draft.job.model.name), *draft.job.batch.packed));
}

}  // namespace foretoken::job

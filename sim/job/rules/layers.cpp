// Checks that layers split over stages and chunks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/job/layout.h"
#include "sim/job/rules/rules.h"

namespace foretoken::job {
namespace {

/// Returns the fault of a list that puts layers of both halves of an encoder-decoder on one stage.
std::optional<std::string> why_seam_is_inside(const Job& job) {
  const std::int64_t encoder = job.parallelism.encoder_layers;
  if (encoder == 0 || job.parallelism.pipeline == 1) return std::nullopt;
  std::int64_t sum = 0;
  for (const int layers : job.parallelism.layers_per_stage)
    if ((sum += layers) >= encoder) break;
  if (sum == encoder) return std::nullopt;
  return fmt::format("expected a stage to end after the {} layers of the encoder, found one that holds layers of both",
                     encoder);
}

/// Returns the fault in the user's own list of layers, if there is one.
std::optional<std::string> why_not_as_stated(const Job& job) {
  const Parallelism& parallelism = job.parallelism;
  const std::vector<int>& stated = parallelism.layers_per_stage;
  if (parallelism.embedding_and_head_as_layers) return "expected only without embedding_and_head_as_layers";
  const std::int64_t stages = parallelism.pipeline;
  const std::int64_t chunks = stages * (parallelism.copies > 1 ? 1 : parallelism.virtual_pipeline);
  const auto numbers = static_cast<std::int64_t>(stated.size());
  if (numbers != stages && numbers != chunks)
    return fmt::format("expected {} numbers (the pipeline degree){}, found {}", stages,
                       chunks > stages ? fmt::format(" or {} (x virtual_pipeline)", chunks) : "", numbers);
  std::int64_t sum = 0;
  for (const int layers : stated) sum += layers;
  if (sum != job.model.layers)
    return fmt::format("expected a sum of {} (the model's layers), found {}", job.model.layers, sum);
  if (const auto mixed = why_seam_is_inside(job)) return mixed;
  const bool of_chunks = numbers == chunks;
  if (leaves_chunk_empty(stated, of_chunks ? 1 : parallelism.virtual_pipeline)) {
    if (of_chunks) return "expected at least one layer on every chunk between the first and the last, found 0";
    return fmt::format("expected at least virtual_pipeline {}, found 0", parallelism.virtual_pipeline);
  }
  if (of_chunks) return std::nullopt;
  for (const int layers : stated)
    if (parallelism.copies == 1 && layers % parallelism.virtual_pipeline != 0)
      return fmt::format("expected multiples of virtual_pipeline {}, found {}", parallelism.virtual_pipeline, layers);
  return std::nullopt;
}

/// Returns values of one degree, up to twice its own, with which the layers can be dealt out.
Choice degrees_that_work(const Job& job, int Parallelism::*degree, std::string key,
                         const std::function<void(Question&, std::int64_t)>& set) {
  Parallelism changed = job.parallelism;
  const auto works = [&](std::int64_t value) {
    changed.*degree = static_cast<int>(value);
    return deal_layers(job.model.layers, changed).has_value();
  };
  return numbers_that_work(std::move(key), std::min(2 * job.parallelism.*degree, 1024), works, set);
}

/// Returns a list of layers for every stage, as even as the chunks allow. Only short lists are shown.
Choice stated_layers(const Job& job) {
  constexpr int kMostShown = 16;
  const int stages = job.parallelism.pipeline;
  const int chunks = job.parallelism.copies > 1 ? 1 : job.parallelism.virtual_pipeline;
  const std::int64_t rounds = job.model.layers / chunks;
  Choice choice{.key = "parallelism.layers_per_stage", .tries = {}};
  if (stages > kMostShown || job.model.layers % chunks != 0 || rounds < stages) return choice;
  std::vector<int> layers;
  for (const Stage stage : ids<Stage>(stages))
    layers.push_back(static_cast<int>((rounds / stages + (stage.number() < rounds % stages ? 1 : 0)) * chunks));
  choice.tries.push_back({fmt::format("[{}]", fmt::join(layers, ",")),
                          [layers](Question& question) { question.choices.parallelism.layers_per_stage = layers; }});
  return choice;
}

/// Returns changes of one key with which the layers can be dealt out.
Advice layers_that_work(const Job& job) {
  const bool as_layers = !job.parallelism.embedding_and_head_as_layers;
  const auto set_as_layers = [=](Question& question) {
    question.choices.parallelism.embedding_and_head_as_layers = as_layers;
  };
  const auto set_chunks = [](Question& question, std::int64_t value) {
    question.choices.parallelism.virtual_pipeline = static_cast<int>(value);
  };
  return {{.key = "parallelism.embedding_and_head_as_layers", .tries = {{fmt::format("{}", as_layers), set_as_layers}}},
          degrees_that_work(job, &Parallelism::pipeline, "parallelism.pipeline", set_degree(Axis::kPipeline)),
          degrees_that_work(job, &Parallelism::virtual_pipeline, "parallelism.virtual_pipeline", set_chunks),
          stated_layers(job)};
}

}  // namespace

void check_stack(Draft& draft) {
  const model::Transformer& model = draft.job.model;
  if (!model.stack) return;
  std::int64_t layers = 0;
  for (const model::LayerRun& run : *model.stack) layers += run.count;
  if (layers != model.layers)
    draft.complain("/model",
                   fmt::format("expected kinds of layers for {}, found {}", with_noun(model.layers, "layer"), layers));
}

bool layers_split(Draft& draft) {
  const Parallelism& degrees = draft.job.parallelism;
  const std::int64_t layers = draft.job.model.layers;
  if (degrees.virtual_pipeline % degrees.copies != 0) return false;  // the schedule's rule says it
  if (!degrees.layers_per_stage.empty()) {
    const std::optional<std::string> wrong = why_not_as_stated(draft.job);
    if (wrong) draft.complain("/parallelism/layers_per_stage", *wrong);
    return !wrong;
  }
  const int chunks_a_stage = std::max(1, degrees.virtual_pipeline / degrees.copies);  // of one copy of the model
  const std::int64_t chunks = std::int64_t{degrees.pipeline} * chunks_a_stage;
  if (chunks <= layers + 2 && deal_layers(layers, degrees)) return true;
  if (encoder_stages(degrees) > 0) {
    if (const auto reason = why_halves_do_not_split(draft.job))
      draft.complain("/parallelism/encoder_pipeline", *reason);
    return false;
  }
  const char* noun = layers == 1 ? "layer does" : "layers do";
  if (degrees.embedding_and_head_as_layers) noun = "layers + 2 (embedding, head) do";
  draft.complain(
      "/parallelism/pipeline",
      fmt::format("the {} {} not split evenly over pipeline {} x {} {} = {} chunks", layers, noun, degrees.pipeline,
                  degrees.copies > 1 ? "chunks of a copy of the model" : "virtual_pipeline", chunks_a_stage, chunks),
      [&] { return layers_that_work(draft.job); });
  return false;
}

void check_recomputed_layers(Draft& draft) {
  const Job& job = draft.job;
  if (job.recompute.layers == 1) return;
  const int largest = deal_layers(job.model.layers, job.parallelism)->largest();
  if (job.recompute.layers <= largest) return;
  // By blocks, the first layers of a chunk recompute (Megatron-Core, transformer_block.py, _checkpointed_forward).
  if (job.recompute.block)
    draft.notes.assumptions.push_back(fmt::format("recompute.layers {} as all layers of a chunk, which has at most {}",
                                                  job.recompute.layers, largest));
  else
    draft.complain("/recompute/layers", fmt::format("expected at most {}, the layers of the largest chunk, found {}",
                                                    largest, job.recompute.layers));
}

}  // namespace foretoken::job

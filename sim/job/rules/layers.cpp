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

/// Returns the fault in the user's own list of layers, if there is one.
std::optional<std::string> why_not_as_stated(const Job& job) {
  const Parallelism& parallelism = job.parallelism;
  const std::vector<int>& stated = parallelism.layers_per_stage;
  if (parallelism.embedding_and_head_as_layers) return "expected only without embedding_and_head_as_layers";
  if (static_cast<std::int64_t>(stated.size()) != parallelism.pipeline)
    return fmt::format("expected {} numbers (the pipeline degree), found {}", parallelism.pipeline, stated.size());
  std::int64_t sum = 0;
  for (const int layers : stated) sum += layers;
  if (sum != job.model.layers)
    return fmt::format("expected a sum of {} (the model's layers), found {}", job.model.layers, sum);
  for (const int layers : stated)
    if (layers % parallelism.virtual_pipeline != 0)
      return fmt::format("expected multiples of virtual_pipeline {}, found {}", parallelism.virtual_pipeline, layers);
  return std::nullopt;
}

/// Returns "pipeline 7, 10, 14": values of one degree, up to twice its own, with which the layers can be dealt out.
std::optional<std::string> degrees_that_work(const Job& job, int Parallelism::*degree, std::string_view key) {
  Parallelism changed = job.parallelism;
  std::vector<int> found;
  const int highest = std::min(2 * changed.*degree, 1024);
  for (changed.*degree = 1; changed.*degree <= highest; ++(changed.*degree))
    if (deal_layers(job.model.layers, changed)) found.push_back(changed.*degree);
  if (found.empty()) return std::nullopt;
  if (found.size() > 3) found.erase(found.begin(), found.end() - 3);
  return fmt::format("{} {}", key, fmt::join(found, ", "));
}

/// Returns changes of one number with which the layers can be dealt out.
std::string layers_that_work(const Job& job) {
  std::vector<std::string> ways;
  Parallelism changed = job.parallelism;
  changed.embedding_and_head_as_layers = !changed.embedding_and_head_as_layers;
  if (deal_layers(job.model.layers, changed))
    ways.push_back(fmt::format("embedding_and_head_as_layers {}", changed.embedding_and_head_as_layers));
  const auto add = [&](std::optional<std::string> way) {
    if (way) ways.push_back(std::move(*way));
  };
  add(degrees_that_work(job, &Parallelism::pipeline, "pipeline"));
  if (job.parallelism.virtual_pipeline > 1)
    add(degrees_that_work(job, &Parallelism::virtual_pipeline, "virtual_pipeline"));
  ways.emplace_back("layers_per_stage");
  return either(ways);
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
  if (!degrees.layers_per_stage.empty()) {
    const std::optional<std::string> wrong = why_not_as_stated(draft.job);
    if (wrong) draft.complain("/parallelism/layers_per_stage", *wrong);
    return !wrong;
  }
  const std::int64_t chunks = std::int64_t{degrees.pipeline} * degrees.virtual_pipeline;
  if (chunks <= layers + 2 && deal_layers(layers, degrees)) return true;
  const char* noun = layers == 1 ? "layer does" : "layers do";
  if (degrees.embedding_and_head_as_layers) noun = "layers + 2 (embedding, head) do";
  draft.complain(
      "/parallelism/pipeline",
      fmt::format("the {} {} not split evenly over pipeline {} x virtual_pipeline {} = {} chunks; try {}", layers, noun,
                  degrees.pipeline, degrees.virtual_pipeline, chunks, layers_that_work(draft.job)));
  return false;
}

void check_recomputed_layers(Draft& draft) {
  const Job& job = draft.job;
  if (job.recompute.layers == 1) return;
  const int largest = deal_layers(job.model.layers, job.parallelism)->largest();
  if (job.recompute.layers > largest)
    draft.complain("/recompute/layers", fmt::format("expected at most {}, the layers of the largest chunk, found {}",
                                                    largest, job.recompute.layers));
}

}  // namespace foretoken::job

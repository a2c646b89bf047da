// The three asynchronous schedules: they differ in their weights, not in the order of their passes.
#include "sim/schedule/async/async.h"

#include <fmt/format.h>

#include "sim/schedule/flush/one_f_one_b.h"

namespace foretoken::schedule {
namespace {

std::optional<std::string> needs_a_pipeline(PipelineShape shape) {
  if (shape.stages > 1) return std::nullopt;
  return "expected at least 2 pipeline stages, found 1; try pipeline 2, or the schedule 1f1b";
}

// With fewer micro-batches a step than stages, passes would need a third version.
std::optional<std::string> two_versions_rule(PipelineShape shape) {
  if (auto reason = needs_a_pipeline(shape)) return reason;
  if (shape.microbatches >= shape.stages) return std::nullopt;
  return fmt::format("expected at least {} micro-batches (the pipeline stages), found {}; try a larger global batch",
                     shape.stages, shape.microbatches);
}

}  // namespace

Schedule pipedream() {
  return {.name = "pipedream",
          .description =
              "1f1b without a flush, p - r versions of the weights, an update a micro-batch "
              "(arXiv:1806.03377)",
          .build = one_f_one_b,
          .own_rule = needs_a_pipeline,
          .without_flush = WithoutFlush{WeightUse::kOfTheForward, /*updates_every_microbatch=*/true}};
}

Schedule pipedream_2bw() {
  return {.name = "pipedream-2bw",
          .description = "1f1b without a flush, two versions of the weights, an update a step (arXiv:2006.09503)",
          .build = one_f_one_b,
          .own_rule = two_versions_rule,
          .without_flush = WithoutFlush{WeightUse::kOneStepOld, false}};
}

Schedule pipemare() {
  return {.name = "pipemare",
          .description = "1f1b without a flush, one version of the weights, an update a step (arXiv:1910.05124)",
          .build = one_f_one_b,
          .own_rule = needs_a_pipeline,
          .without_flush = WithoutFlush{WeightUse::kNewest, false}};
}

}  // namespace foretoken::schedule

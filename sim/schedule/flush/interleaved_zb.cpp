// Interleaved zero bubble: interleaved 1F1B with half of its extra warm-up, and split backward passes.
#include <fmt/format.h>

#include <algorithm>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/interleaved_1f1b.h"
#include "sim/schedule/flush/split_1f1b.h"

namespace foretoken::schedule {
namespace {

/// Groups that go round together: as many as PyTorch takes, each of at least p micro-batches where there are p.
int rounds_of(PipelineShape shape) { return std::max(1, shape.microbatches / shape.stages); }

Program interleaved_zb_program(PipelineShape shape) {
  const int group = shape.microbatches / rounds_of(shape);
  PipelineShape grouped = shape;
  grouped.group = group;
  return split_alternating_program(
      shape, {.forwards = virtual_microbatches(OpKind::kForward, grouped),
              .inputs = virtual_microbatches(OpKind::kBackwardInput, grouped),
              .warm_up = [=](Stage stage) { return (shape.chunks - 1) * group + (shape.stages - 1 - stage.number()); },
              .lag = [](Stage stage) { return stage.number(); }});
}

std::optional<std::string> equal_rounds_rule(PipelineShape shape) {
  if (auto fault = no_group_rule(shape)) return fault;
  const int rounds = rounds_of(shape);
  if (shape.microbatches % rounds == 0) return std::nullopt;
  const int fewer = shape.microbatches / shape.stages * shape.stages;
  return fmt::format(
      "expected micro-batches in {} equal rounds of at least {} (the pipeline stages), found {}; try {} or {}", rounds,
      shape.stages, shape.microbatches, fewer, fewer + shape.stages);
}

}  // namespace

Schedule interleaved_zb() {
  return {.name = "interleaved-zb",
          .description = "interleaved 1f1b with split backwards, as PyTorch orders it (ZB1P, arXiv:2401.10241)",
          .interleaves = true,
          .splits_backward = true,
          .build = interleaved_zb_program,
          .own_rule = equal_rounds_rule};
}

}  // namespace foretoken::schedule

// Interleaved 1F1B (arXiv:2104.04473 section 2.2) in the order in which Megatron-Core issues it.
//
// Stage r holds v chunks of the model, so a micro-batch passes the ring of stages v times. Micro-batches go round in
// groups of G. All G of a group go through chunk 0, then through chunk 1, and so on. Then the next group follows.
// Virtual micro-batches 0 .. m v - 1 number these passes. For p = 2, v = 2, m = 5, G = 3:
//
//   virtual micro-batch   0 1 2 3 4 5 6 7 8 9
//   micro-batch           0 1 2 0 1 2 3 4 3 4
//   chunk, forward        0 0 0 1 1 1 0 0 1 1
//   chunk, backward       1 1 1 0 0 0 1 1 0 0
//
// Every stage walks both rows in order, as 1F1B walks micro-batches. Its first backward starts once the first
// micro-batch has come back from the last virtual stage. Until then it runs (v-1) G forwards of the group's earlier
// chunks, and two forwards for each stage that follows (one on the way down, one on the way up).
#include "sim/schedule/flush/interleaved_1f1b.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/base/check.h"
#include "sim/schedule/flush/alternate.h"

namespace foretoken::schedule {
namespace {

int group_of(PipelineShape shape) { return shape.group == 0 ? shape.stages : shape.group; }

bool fills_groups(int microbatches, int group, int stages) {
  const int rest = microbatches % group;
  return rest == 0 || rest >= stages;
}

/// Returns the smallest groups that work for this many micro-batches, for advice. Small groups stash least.
std::vector<int> groups_that_work(PipelineShape shape) {
  constexpr std::size_t kEnough = 4;
  std::vector<int> groups;
  for (int group = shape.stages; group <= shape.microbatches && groups.size() < kEnough; ++group) {
    if (fills_groups(shape.microbatches, group, shape.stages)) groups.push_back(group);
  }
  return groups;
}

/// Returns "7 or 9": the nearest counts of micro-batches below and above that work with the group.
std::string microbatches_that_work(PipelineShape shape) {
  const int group = group_of(shape);
  int below = shape.microbatches, above = shape.microbatches;
  while (!fills_groups(below, group, shape.stages)) --below;  // ends at a multiple of the group, as group <= m
  while (!fills_groups(above, group, shape.stages)) ++above;
  return fmt::format("{} or {}", below, above);
}

std::string two_stages_needed(PipelineShape shape) {
  return fmt::format("expected at least 2 pipeline stages, found {}; try pipeline 2, or the schedule 1f1b",
                     shape.stages);
}

}  // namespace

StageProgram virtual_microbatches(OpKind kind, PipelineShape shape) {
  const int group = group_of(shape);
  const bool in_order = kind == OpKind::kForward;
  StageProgram ops;
  ops.reserve(static_cast<std::size_t>(shape.microbatches) * static_cast<std::size_t>(shape.chunks));
  for (int first = 0; first < shape.microbatches; first += group) {
    const int end = std::min(first + group, shape.microbatches);
    for (int round = 0; round < shape.chunks; ++round) {
      const Chunk chunk = id_of<Chunk>(in_order ? round : shape.chunks - 1 - round);
      for (int microbatch = first; microbatch < end; ++microbatch)
        ops.push_back({kind, id_of<MicroBatch>(microbatch), chunk});
    }
  }
  return ops;
}

std::optional<std::string> no_group_rule(PipelineShape shape) {
  if (shape.stages < 2) return two_stages_needed(shape);
  if (shape.group == 0) return std::nullopt;
  return fmt::format("expected no micro-batch group, found {}; try without it, or the schedule interleaved-1f1b",
                     shape.group);
}

Program interleaved_1f1b(PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1 && shape.chunks >= 1,
          "a pipeline has at least one stage, one micro-batch and one chunk");
  expects(!interleaved_1f1b_group_rule(shape), "micro-batches fill groups from p to m, or leave at least p");
  const auto warm_up = [shape](Stage stage) {
    return 2 * (shape.stages - 1 - stage.number()) + (shape.chunks - 1) * group_of(shape);
  };
  return alternating_program(shape, {.forwards = virtual_microbatches(OpKind::kForward, shape),
                                     .backwards = virtual_microbatches(OpKind::kBackward, shape),
                                     .warm_up = warm_up});
}

std::optional<std::string> interleaved_1f1b_group_rule(PipelineShape shape) {
  const int group = group_of(shape);
  if (shape.microbatches < shape.stages) {
    return fmt::format(
        "expected at least {} micro-batches (the pipeline stages), found {}; try a global batch of {} micro-batches "
        "per data-parallel replica, or the schedule 1f1b without virtual stages",
        shape.stages, shape.microbatches, shape.stages);
  }
  if (group < shape.stages || group > shape.microbatches) {
    return fmt::format(
        "expected a micro-batch group from {} (the pipeline stages) to {} (the micro-batches), found {}; try {}",
        shape.stages, shape.microbatches, group, fmt::join(groups_that_work(shape), ", "));
  }
  if (!fills_groups(shape.microbatches, group, shape.stages)) {
    return fmt::format(
        "expected {} micro-batches to fill groups of {} or leave at least {} (the pipeline stages) over, found {} "
        "over; try {} micro-batches, or a group of {}",
        shape.microbatches, group, shape.stages, shape.microbatches % group, microbatches_that_work(shape),
        fmt::join(groups_that_work(shape), ", "));
  }
  return std::nullopt;
}

std::optional<std::string> interleaved_1f1b_rule(PipelineShape shape) {
  if (shape.stages < 2) return two_stages_needed(shape);
  return interleaved_1f1b_group_rule(shape);
}

}  // namespace foretoken::schedule

// Defines a schedule for tests: two chunks a stage in V placement, with every backward pass in two parts.
#pragma once

#include "sim/schedule/schedule.h"

namespace foretoken::html {

/// Forwards of both chunks, then backwards for input of the second chunk. Backwards for input of the first chunk and
/// for weight of the second take turns, and backwards for weight of the first chunk come last.
inline schedule::Program zigzag(schedule::PipelineShape shape) {
  using schedule::MicroBatch;
  using schedule::OpKind;
  constexpr Chunk kFirst{0}, kSecond{1};
  schedule::StageProgram ops;
  const auto all = [&](OpKind kind, Chunk chunk) {
    for (const MicroBatch microbatch : ids<MicroBatch>(shape.microbatches)) ops.push_back({kind, microbatch, chunk});
  };
  all(OpKind::kForward, kFirst);
  all(OpKind::kForward, kSecond);
  all(OpKind::kBackwardInput, kSecond);
  for (const MicroBatch microbatch : ids<MicroBatch>(shape.microbatches)) {
    ops.push_back({OpKind::kBackwardInput, microbatch, kFirst});
    ops.push_back({OpKind::kBackwardWeight, microbatch, kSecond});
  }
  all(OpKind::kBackwardWeight, kFirst);

  schedule::Program program{.placement = schedule::Placement::v_shaped(shape.stages), .stages = {}};
  program.stages = PerStage<schedule::StageProgram>(shape.stages, ops);
  return program;
}

inline schedule::Schedule zigzag_schedule() {
  return {.name = "zigzag",
          .description = "split backward passes over two chunks in V placement",
          .interleaves = true,
          .splits_backward = true,
          .build = zigzag,
          .place = [](schedule::PipelineShape shape) { return schedule::Placement::v_shaped(shape.stages); }};
}

}  // namespace foretoken::html

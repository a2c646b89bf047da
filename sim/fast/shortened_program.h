// Leaves repetitions out of a program.
//
// In the steady state of a pipeline every stage repeats its passes with later micro-batches: 1F1B with the next one,
// interleaved 1F1B with the next group. For p = 2 and m = 6, 1F1B repeats F B:
//
//   stage 0   F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5
//   stage 1   F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5
//
// A program without some of these repetitions is a program of fewer micro-batches. The order in which its tasks wait
// for each other is the same, and tells that of the whole program (pipeline_plan.cpp).
#pragma once

#include <cstddef>
#include <optional>

#include "sim/schedule/program.h"

namespace foretoken::fast {

/// The ops of a stage that repeat. From `begin` to `end`, the op a period later is the same with later micro-batches.
struct SteadyOps {
  std::size_t begin = 0, end = 0;
};

/// A program without some repetitions.
struct ShortenedProgram {
  schedule::Program program;
  std::size_t period = 0;    ///< ops of a stage that repeat
  std::size_t left_out = 0;  ///< periods of each stage, a multiple of `turn`
  /// Periods in which a message can go from the first stage to the last and back. The stages may come to their passes
  /// in the same order only after so many.
  std::size_t turn = 1;
  Table<Stage, SteadyOps> steady = {};
};

/// Returns the program without most of its repetitions. Returns nothing when there are too few of them, or when the
/// program has ops other than passes.
[[nodiscard]] std::optional<ShortenedProgram> shortened(const schedule::Program& program);

}  // namespace foretoken::fast

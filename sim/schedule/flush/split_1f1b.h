// The pattern behind schedules that split the backward pass: alternate, and run backwards for weight late.
#pragma once

#include <functional>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// An alternation whose backwards are for input. The backward for weight of the same chunk and micro-batch follows
/// `lag` backwards later.
struct SplitAlternation {
  StageProgram forwards, inputs;
  std::function<int(Stage)> warm_up;  ///< forwards before the first backward
  std::function<int(Stage)> lag;      ///< backwards for input that run before the first backward for weight, less one
};

/// Returns the looped program of that order. Precondition: there are as many forwards as backwards.
[[nodiscard]] Program split_alternating_program(PipelineShape shape, const SplitAlternation& order);

}  // namespace foretoken::schedule

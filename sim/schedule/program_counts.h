// What can be counted in a program without knowing any time: stashed activations and messages.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// The most chunk activations that a stage holds at once. A forward stores one; a whole backward or a backward for
/// weight frees one. A whole stage's activations of one micro-batch count as many as the stage has chunks.
[[nodiscard]] int peak_in_flight(const StageProgram& ops);

/// Messages that each stage sends to another in one step: outputs to the next virtual stage, input gradients to the
/// previous one. Results that stay on the stage are no messages.
[[nodiscard]] std::vector<std::int64_t> sends_per_stage(const Program& program);

}  // namespace foretoken::schedule

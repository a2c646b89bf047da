// Counts of a program that need no times: stashed activations and messages.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Returns the most chunk activations that a stage holds at once. A forward stores one; a whole backward or a backward
/// for weight frees one. A stage with v chunks holds v of them for one micro-batch.
[[nodiscard]] int peak_in_flight(const StageProgram& ops);

/// Returns the most chunk activations of a stage that are away at once, with its partner.
[[nodiscard]] int peak_away(const StageProgram& ops);

/// Counts the messages that each stage sends to another in one step: outputs to the next virtual stage, input gradients
/// to the previous one. Results that stay on the stage are no messages.
[[nodiscard]] std::vector<std::int64_t> sends_per_stage(const Program& program);

}  // namespace foretoken::schedule

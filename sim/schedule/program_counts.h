// What can be counted in a program without knowing any time: stashed activations and messages.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// The most chunk activations that `stage` holds at once: each forward stashes one, its backward frees it. Counts
/// passes of one chunk, so a whole stage's activations of one micro-batch count as many as the stage has chunks.
/// Precondition: 0 <= stage < program.size().
[[nodiscard]] int peak_in_flight(const Program& program, int stage);

/// Messages that each stage sends to another in one step: activations to the next virtual stage, gradients to the
/// previous one; what stays on the stage is no message. The chunks of a stage are those that the program names.
[[nodiscard]] std::vector<std::int64_t> sends_per_stage(const Program& program);

}  // namespace foretoken::schedule

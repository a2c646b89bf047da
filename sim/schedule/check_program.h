// Proves that a program is complete, in a possible order, and free of deadlock.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// What is wrong with `program` for that shape, one sentence each; empty: nothing. Valid means that
///  - every stage runs every forward and every backward of its chunks exactly once, each forward before its backward;
///  - when every stage runs its list strictly in order, and an op waits for the neighbour's pass that feeds it (a
///    forward for that of the previous virtual stage, a backward for that of the next), all stages finish.
/// The order is looked at only in complete programs and deadlock only in ordered ones. Sends are taken not to block.
[[nodiscard]] std::vector<std::string> check_program(const Program& program, PipelineShape shape);

}  // namespace foretoken::schedule

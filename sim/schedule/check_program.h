// Proves that a program is complete, in a valid order, and free of deadlock.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Returns the faults of `program` for that shape, one sentence each. A program without faults is valid:
///  - every micro-batch goes one way of the placement, and every chunk on that way runs its forward once, and once
///    either its whole backward or both parts of it;
///  - both passes of a pair stand beside each other, and need nothing of each other;
///  - every op comes after the op that it follows on its stage (OpTraits::follows), and finds the activations it needs;
///  - when every stage runs its list strictly in order, and an op waits for the neighbour that its input comes from,
///    all stages finish. A pair waits for the inputs of both its passes.
/// The order is checked only in complete programs, and deadlock only in ordered ones. Sends are assumed not to block.
[[nodiscard]] std::vector<std::string> check_program(const Program& program, PipelineShape shape);

}  // namespace foretoken::schedule

// Proves that a program is complete, in a possible order, and free of deadlock.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// What is wrong with `program` for that shape, one sentence each; empty: nothing. Valid means that
///  - every micro-batch goes one way of the placement, and every chunk on that way runs its forward once, and once
///    either its whole backward or both parts of it;
///  - every op comes after what it follows on its stage (OpTraits::follows), and finds activations where it needs them;
///  - when every stage runs its list strictly in order, and an op waits for the neighbour that its input comes from,
///    all stages finish.
/// The order is looked at only in complete programs and deadlock only in ordered ones. Sends are taken not to block.
[[nodiscard]] std::vector<std::string> check_program(const Program& program, PipelineShape shape);

}  // namespace foretoken::schedule

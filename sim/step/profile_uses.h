// The parts of its profile that a job reads.
#pragma once

#include <utility>
#include <vector>

#include "sim/cost/parts.h"
#include "sim/job/job.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// All that a job moves, a row for each different operation; gradients and parameters stand for any number of them.
/// Precondition: it has no groups.
[[nodiscard]] Communications communications_of(const job::Job& job);

/// Precondition, here and below: model, cluster and parallelism of the scenario are complete; it has no groups.
[[nodiscard]] cost::Uses uses_of(const job::Job& job);

/// The profile of every kind of node, and what is read of it. They live as long as the scenario.
[[nodiscard]] std::vector<std::pair<const cost::Profile*, cost::Uses>> profiles_used(const job::Job& job);

}  // namespace foretoken::step

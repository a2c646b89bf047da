// Which parts of its profile a scenario reads.
#pragma once

#include <utility>
#include <vector>

#include "sim/cost/parts.h"
#include "sim/job/job.h"

namespace foretoken::step {

/// Precondition, here and below: model, cluster and parallelism of the scenario are complete; it has no groups.
[[nodiscard]] cost::Uses uses_of(const job::Job& job);

/// The profile of every kind of node, and what is read of it. They live as long as the scenario.
[[nodiscard]] std::vector<std::pair<const cost::Profile*, cost::Uses>> profiles_used(const job::Job& job);

}  // namespace foretoken::step

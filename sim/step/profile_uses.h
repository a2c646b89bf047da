// The parts of its profile that a job reads.
#pragma once

#include <utility>
#include <vector>

#include "sim/cost/parts.h"
#include "sim/job/job.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// Returns everything that a job moves, a row for each different operation. Gradients and parameters count the same in
/// any number. Precondition: the job has no groups.
[[nodiscard]] Communications communications_of(const job::Job& job);

/// Returns the parts that a job reads. Precondition, here and below: its model, cluster and parallelism are complete.
/// Precondition here: it has no groups.
[[nodiscard]] cost::Uses uses_of(const job::Job& job);

/// Returns the profile of every kind of node, with the parts that are read. The profiles live as long as the job.
[[nodiscard]] std::vector<std::pair<const cost::Profile*, cost::Uses>> profiles_used(const job::Job& job);

}  // namespace foretoken::step

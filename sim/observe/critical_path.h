// Finds the critical path: the chain of tasks without slack. Shorten one of them, and the step may end sooner.
#pragma once

#include <functional>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/workload.h"

namespace foretoken::observe {

/// Returns the path from time zero to the end of the step. Each task starts at the instant at which the one before it
/// ends. The one before it is a dependency, or the task before it on a stream. Where there are several, a task of the
/// same stage comes first, then the lowest number. Precondition: every task of the run has ended.
[[nodiscard]] std::vector<des::TaskId> critical_path(const step::Workload& workload, const des::RunResult& run);

/// Returns the critical path of any graph. Where several tasks held up another, one that is `beside` it comes first.
[[nodiscard]] std::vector<des::TaskId> critical_path(
    const des::TaskGraph& graph, const des::RunResult& run,
    const std::function<bool(std::uint32_t task, std::uint32_t other)>& beside);

}  // namespace foretoken::observe

// The critical path: the chain of tasks without slack. Shorten one of them, and the step may end sooner.
#pragma once

#include <functional>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/workload.h"

namespace foretoken::observe {

/// The path from time zero to the end of the step. Each task starts at the instant at which the one before it ends.
/// That one is a dependency, or the task before it on a stream. Of several, a task of the same stage is taken first,
/// then the one with the lowest number. Precondition: the run got stuck nowhere.
[[nodiscard]] std::vector<des::TaskId> critical_path(const step::Workload& workload, const des::RunResult& run);

/// The critical path of any graph. Of several tasks that held up another, one that is `beside` it is taken first.
[[nodiscard]] std::vector<des::TaskId> critical_path(
    const des::TaskGraph& graph, const des::RunResult& run,
    const std::function<bool(std::uint32_t task, std::uint32_t other)>& beside);

}  // namespace foretoken::observe

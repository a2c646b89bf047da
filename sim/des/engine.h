// Runs a task graph: the discrete-event loop.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/des/observer.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// A task that never started, and what it waits for.
struct Stuck {
  TaskId task;
  std::vector<TaskId> waits_for;          ///< dependencies that never ended
  std::vector<StreamId> waits_on_streams; ///< streams at whose head another task stands
};

/// What a run gives back. When `stuck` is not empty the graph deadlocked and makespan is the last completion.
struct RunResult {
  Instant makespan;
  std::vector<Instant> start;  ///< per task
  std::vector<Instant> end;    ///< per task
  std::vector<Stuck> stuck;
};

/// Runs the graph once from time zero. Deterministic: the result depends on the graph alone, not on task numbering.
[[nodiscard]] RunResult run(const TaskGraph& graph, std::span<Observer* const> observers = {});

}  // namespace foretoken::des

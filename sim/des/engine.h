// Runs a task graph: the discrete-event loop.
#pragma once

#include <span>
#include <vector>

#include "sim/des/observer.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// A task that never started although it stands at the head of one of its streams or holds none, and what it waits for.
struct Stuck {
  TaskId task;
  std::vector<TaskId> waits_for;           ///< dependencies that never ended
  std::vector<StreamId> waits_on_streams;  ///< streams at whose head another task stands
};

/// What a run gives back. When `stuck` is not empty the graph deadlocked and makespan is the last completion;
/// describe_deadlock (deadlock.h) puts it in words.
struct RunResult {
  Instant makespan;
  std::vector<Instant> start;  ///< per task; kNever if it never started
  std::vector<Instant> end;    ///< per task; likewise
  std::vector<Stuck> stuck;    ///< in order of task
};

/// Runs the graph once from time zero. Deterministic: the result depends on the graph alone, not on task numbering.
///
/// An instant is atomic: all completions at t, then all starts that they allow. Tasks without duration start and end
/// within their instant, which then goes on with the starts that these ends allow until none is left; only then are
/// the rates of flows shared out anew. Observers are told in this order.
[[nodiscard]] RunResult run(const TaskGraph& graph, std::span<Observer* const> observers = {});

}  // namespace foretoken::des

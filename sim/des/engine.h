// Runs a task graph: the discrete-event loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/large_vector.h"
#include "sim/base/process/watch.h"
#include "sim/des/observer.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// A task that never started, and the tasks and streams that it waits for. It stands at the head of one of its streams,
/// or holds none.
struct Stuck {
  TaskId task;
  std::vector<TaskId> waits_for;           ///< dependencies that never ended
  std::vector<StreamId> waits_on_streams;  ///< streams with another task at their head
};

/// The result of a run. When `stuck` is not empty, the graph deadlocked and makespan is the last completion.
/// describe_deadlock (deadlock.h) says it in words.
struct RunResult {
  Instant makespan;
  LargeVector<Instant> start;  ///< per task; kNever if it never started
  LargeVector<Instant> end;    ///< per task; kNever if it never ended; empty when the run kept starts only
  std::vector<Stuck> stuck;    ///< in order of task
};

/// The times that a run keeps. The ends of a graph without flows follow from the starts, and large graphs save 8 bytes
/// a task without them. With flows a run keeps both.
enum class Kept : std::uint8_t { kStartsAndEnds, kStarts };

/// Runs the graph once from time zero. Deterministic: the result depends on the graph alone, not on task numbering.
///
/// An instant is atomic: all completions at t, then all starts that they allow. A task without duration ends in its own
/// instant and may allow more starts. The instant goes on until no task can start. Then the rates of flows are shared
/// anew. Observers hear of events in this order. The run shows the number of ended tasks to `watch` about a thousand
/// times, and cannot be stopped.
[[nodiscard]] RunResult run(const TaskGraph& graph, std::span<Observer* const> observers = {},
                            Kept kept = Kept::kStartsAndEnds, const Watch& watch = {});

/// Returns the end of a task, whichever times the run of that graph kept; kNever if it never ended.
[[nodiscard]] Instant end_of(TaskId task, const TaskGraph& graph, const RunResult& run);

}  // namespace foretoken::des

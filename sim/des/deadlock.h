// Says who waits for whom when nothing can start any more.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/des/engine.h"
#include "sim/des/task_graph.h"

namespace foretoken::des {

/// Returns the tasks that never started although they stand at the head of one of their streams, or hold no stream.
/// `start` is per task; kNever means that the task never started.
[[nodiscard]] std::vector<Stuck> find_stuck(const TaskGraph& graph, std::span<const Instant> start);

/// Returns a circle of tasks: each waits for the next, and the last for the first. Every deadlock holds one.
/// Precondition: the run deadlocked.
[[nodiscard]] std::vector<TaskId> waiting_circle(const TaskGraph& graph, const RunResult& result);

/// The caller's names of tasks and streams.
struct Names {
  std::function<std::string(TaskId)> task;
  std::function<std::string(StreamId)> stream;
};

/// Returns the deadlock in words: the circle, then at most `most` stuck tasks, one to a line. The text is empty if
/// there was none.
[[nodiscard]] std::string describe_deadlock(const TaskGraph& graph, const RunResult& result, const Names& names,
                                            std::size_t most = 20);

}  // namespace foretoken::des

// Helps tests: a graph as plain data, ways to build it in any order, and an engine simple enough to trust.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "sim/des/engine.h"
#include "sim/des/task_graph.h"

namespace foretoken::des::testing {

struct PlannedTask {
  TaskKind kind = TaskKind::kOccupy;
  std::vector<std::uint32_t> streams;
  Duration duration;
  double bytes = 0;                  // flows only
  std::vector<std::uint32_t> route;  // flows only
};

/// The order of `tasks` is the order on every stream.
struct Plan {
  std::uint32_t streams = 0;
  std::vector<double> capacities;
  std::vector<PlannedTask> tasks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> dependencies;  // before, after
};

/// A plan built as a graph. Task i of the plan is `id[i]` of the graph.
struct Built {
  TaskGraph graph;
  std::vector<TaskId> id;
};

/// Builds the plan with streams, links, tasks and dependencies numbered at random, keeping each stream's order.
Built build_shuffled(const Plan& plan, std::uint32_t seed);
/// Builds the plan in its own order.
Built build(const Plan& plan);

struct Times {
  std::vector<Instant> start, end;  // by the plan's task; kNever if never
  bool operator==(const Times&) const = default;
};

/// The times of a run, by the plan's tasks.
Times times_of(const Built& built, const RunResult& result);

/// Runs the definition, word for word, in quadratic time. At each instant it ends the tasks that are due and starts
/// those that may start, until nothing changes. Then it shares all links anew.
Times reference_run(const Plan& plan);

/// Draws a plan: few tasks, few streams, many equal and zero durations. With `circles`, dependencies may run backwards.
Plan draw_plan(bool flows, bool circles);

}  // namespace foretoken::des::testing

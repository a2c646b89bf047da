// For tests: a graph as plain data, ways to build it in any order, and an engine so simple that it can be trusted.
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
  double bytes = 0;                  // of a flow
  std::vector<std::uint32_t> route;  // of a flow
};

/// The order of `tasks` is the order on every stream.
struct Plan {
  std::uint32_t streams = 0;
  std::vector<double> capacities;
  std::vector<PlannedTask> tasks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> dependencies;  // before, after
};

/// A plan built as a graph; `id[i]` is what became of the plan's task i.
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

/// The definition, word for word, in quadratic time: at each instant, end what is due; start whatever may start; again
/// until nothing changes; then share all links anew.
Times reference_run(const Plan& plan);

/// Draws a plan: few tasks, few streams, many equal and zero durations. With `circles`, dependencies may run backwards.
Plan draw_plan(bool flows, bool circles);

}  // namespace foretoken::des::testing

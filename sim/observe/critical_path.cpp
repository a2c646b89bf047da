// Walks back from the task that ends last. One pass over all edges finds the last task that each task waited for.
#include "sim/observe/critical_path.h"

#include <algorithm>
#include <cstdint>

namespace foretoken::observe {
namespace {

constexpr std::uint32_t kNone = ~0U;

// Returns for each task the last task that it waited for.
std::vector<std::uint32_t> holders(const des::TaskGraph& graph, const des::RunResult& run,
                                   const std::function<bool(std::uint32_t, std::uint32_t)>& beside) {
  std::vector<std::uint32_t> holder(graph.tasks(), kNone);
  for (std::uint32_t task = 0; task < holder.size(); ++task) {
    const des::Instant end = des::end_of({task}, graph, run);
    graph.for_each_successor(des::TaskId{task}, [&](des::TaskId after) {
      if (end != run.start[after.value]) return;
      std::uint32_t& held = holder[after.value];
      if (held == kNone || (beside(task, after.value) && !beside(held, after.value))) held = task;
    });
  }
  return holder;
}

}  // namespace

std::vector<des::TaskId> critical_path(const step::Workload& workload, const des::RunResult& run) {
  return critical_path(workload.graph, run, [&](std::uint32_t task, std::uint32_t other) {
    return workload.meaning[task].stage == workload.meaning[other].stage;
  });
}

std::vector<des::TaskId> critical_path(const des::TaskGraph& graph, const des::RunResult& run,
                                       const std::function<bool(std::uint32_t, std::uint32_t)>& beside) {
  const std::vector<std::uint32_t> holder = holders(graph, run, beside);
  std::uint32_t last = kNone;
  for (std::uint32_t task = 0; task < graph.tasks(); ++task)
    if (last == kNone || des::end_of({task}, graph, run) > des::end_of({last}, graph, run)) last = task;
  std::vector<des::TaskId> path;
  for (std::uint32_t task = last; task != kNone; task = holder[task]) path.push_back(des::TaskId{task});
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace foretoken::observe

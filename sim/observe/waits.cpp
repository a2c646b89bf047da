// Follows the critical path of an unfolded run and asks of each task what slow hardware it used.
#include "sim/observe/waits.h"

#include <algorithm>
#include <set>

#include "sim/observe/critical_path.h"

namespace foretoken::observe {
namespace {

// The instance that a task is part of: tasks of an instance are numbered from its first on.
std::size_t instance_of(des::TaskId task, const std::vector<lowering::Instance>& instances) {
  const auto after =
      std::upper_bound(instances.begin(), instances.end(), task,
                       [](des::TaskId value, const lowering::Instance& each) { return value < each.begin; });
  return static_cast<std::size_t>(after - instances.begin()) - 1;
}

}  // namespace

Waits waits_of(const lowering::UnfoldedStep& unfolded, const des::RunResult& run) {
  Waits waits;
  const bool links = !unfolded.link_parts.empty();
  if (unfolded.slowest.empty() && !links) return waits;
  const std::span<const des::Flow> flows = unfolded.graph.flows();
  for (const des::TaskId task :
       critical_path(unfolded.graph, run, [](std::uint32_t, std::uint32_t) { return false; })) {
    const des::Duration time = run.end[task.value] - run.start[task.value];
    const int gpu = unfolded.slowest.empty() ? -1 : unfolded.slowest[instance_of(task, unfolded.instances)];
    if (gpu >= 0) waits.by_gpu[gpu] += time;
    if (links && unfolded.graph.kind(task) == des::TaskKind::kFlow) {
      const auto flow = std::lower_bound(flows.begin(), flows.end(), task,
                                         [](const des::Flow& each, des::TaskId value) { return each.task < value; });
      std::set<int> parts;  // a flow may pass both directions' ends of one part
      for (const des::LinkId link : flow->route) {
        const auto found = unfolded.link_parts.find(link.value);
        if (found != unfolded.link_parts.end()) parts.insert(found->second.begin(), found->second.end());
      }
      for (const int part : parts) waits.by_link[part] += time - unfolded.graph.duration(task);
    }
  }
  return waits;
}

}  // namespace foretoken::observe

// Copies task graphs into one graph.
#include "sim/des/compose.h"

#include <vector>

#include "sim/base/check.h"

namespace foretoken::des {
namespace {

/// Adds a copy of one task. `flow` is the part's next flow when `task` is a flow.
TaskId add_copy(TaskGraph& whole, const TaskGraph& part, TaskId task, std::span<const StreamId> members,
                std::span<const LinkId> links, const Flow* flow) {
  if (part.kind(task) == TaskKind::kFlow) {
    std::vector<LinkId> route;
    for (const LinkId link : flow->route) route.push_back(links[link.value]);
    return whole.add_flow(members, flow->bytes, route, part.duration(task));
  }
  if (part.kind(task) == TaskKind::kRendezvous) return whole.add_rendezvous(members, part.duration(task));
  return members.empty() ? whole.add_delay(part.duration(task))
                         : whole.add_occupy(members.front(), part.duration(task));
}

}  // namespace

TaskId append(TaskGraph& whole, const TaskGraph& part, std::span<const LinkId> links, std::optional<TaskId> after) {
  expects(links.size() == part.links().size(), "every link of a part stands for one of the whole");
  const auto first_task = static_cast<std::uint32_t>(whole.tasks());
  const auto first_stream = static_cast<std::uint32_t>(whole.streams());
  for (std::size_t s = 0; s < part.streams(); ++s) whole.add_stream();
  const Flow* flow = part.flows().data();
  std::vector<StreamId> members;
  for (std::uint32_t task = 0; task < part.tasks(); ++task) {
    members.clear();
    for (const StreamId stream : part.members({task})) members.push_back({first_stream + stream.value});
    add_copy(whole, part, {task}, members, links, flow);
    if (part.kind({task}) == TaskKind::kFlow) ++flow;
  }
  std::vector<TaskId> last;  // tasks that no other task of the copy waits for
  for (std::uint32_t task = 0; task < part.tasks(); ++task) {
    bool has_successor = false;
    part.for_each_successor({task}, [&](TaskId) { has_successor = true; });
    part.for_each_dependent({task},
                            [&](TaskId then) { whole.add_dependency({first_task + task}, {first_task + then.value}); });
    if (!has_successor) last.push_back({first_task + task});
    if (after && part.in_degree({task}) == 0) whole.add_dependency(*after, {first_task + task});
  }
  const TaskId end = whole.add_delay({});
  for (const TaskId task : last) whole.add_dependency(task, end);
  return end;
}

}  // namespace foretoken::des

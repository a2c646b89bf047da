// Follows the critical path of an unfolded run and asks of each task what slow hardware it used.
#include "sim/observe/waits.h"

#include <algorithm>
#include <set>

#include "sim/observe/critical_path.h"

namespace foretoken::observe {
namespace {

using lowering::UnfoldedStep;

/// The slow links that a flow passes, by place among the scenario's; each once, though it may pass both its ends.
std::set<int> slow_links_of(des::TaskId flow, const UnfoldedStep& unfolded) {
  const std::span<const des::Flow> flows = unfolded.graph.flows();
  const auto found = std::lower_bound(flows.begin(), flows.end(), flow,
                                      [](const des::Flow& each, des::TaskId value) { return each.task < value; });
  std::set<int> parts;
  for (const des::LinkId link : found->route)
    if (const auto slow = unfolded.link_parts.find(link.value); slow != unfolded.link_parts.end())
      parts.insert(slow->second.begin(), slow->second.end());
  return parts;
}

/// The entry with the most time, the first on a tie. Precondition: there is one.
int longest(const std::map<int, des::Duration>& times) {
  return std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

Waits waits_of(const UnfoldedStep& unfolded, const lowering::Imperfections& imperfections, const des::RunResult& run) {
  Waits waits;
  const bool gpus = !unfolded.slowest.empty(), links = !unfolded.link_parts.empty();
  if (!gpus && !links) return waits;
  for (const des::TaskId task :
       critical_path(unfolded.graph, run, [](std::uint32_t, std::uint32_t) { return false; })) {
    const des::Duration time = run.end[task.value] - run.start[task.value];
    const lowering::Origin origin = unfolded.origin_of(task);
    if (const int rank = gpus ? unfolded.slowest[origin.instance] : -1; rank >= 0) {
      waits.by_gpu[imperfections.gpu_of(rank)] += time;
      waits.by_stage_rank[rank % unfolded.ranks.count()] += time;
    }
    if (!links || unfolded.graph.kind(task) != des::TaskKind::kFlow) continue;
    const des::Duration moves = time - unfolded.graph.duration(task);
    const std::set<int> slow = slow_links_of(task, unfolded);
    for (const int part : slow) waits.by_link[part] += moves;
    if (!slow.empty() && unfolded.tasks[origin.folded.value].spread.data)
      waits.by_stage_rank[unfolded.members_of(origin).front()] += moves;
  }
  return waits;
}

int rank_to_show(const Waits& waits, const UnfoldedStep& unfolded, const des::RunResult& run) {
  if (waits.by_stage_rank.empty()) return lowering::last_rank(unfolded, run);
  const int ranks_a_replica = unfolded.ranks.tensor * unfolded.ranks.context;
  std::map<int, des::Duration> by_replica;
  for (const auto& [rank, time] : waits.by_stage_rank) by_replica[rank / ranks_a_replica] += time;
  const int replica = longest(by_replica);
  std::map<int, des::Duration> of_it = waits.by_stage_rank;
  std::erase_if(of_it, [&](const auto& each) { return each.first / ranks_a_replica != replica; });
  return longest(of_it);
}

}  // namespace foretoken::observe

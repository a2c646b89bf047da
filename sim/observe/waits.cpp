// Follows the critical path of an unfolded run, and adds up the time on slow hardware.
#include "sim/observe/waits.h"

#include <algorithm>
#include <limits>
#include <set>

#include "sim/observe/critical_path.h"

namespace foretoken::observe {
namespace {

using ranks::UnfoldedStep;

const des::Flow& flow_of(des::TaskId task, const UnfoldedStep& unfolded) {
  const std::span<const des::Flow> flows = unfolded.graph.flows();
  return *std::lower_bound(flows.begin(), flows.end(), task,
                           [](const des::Flow& each, des::TaskId value) { return each.task < value; });
}

/// Returns the slow links on the way of a flow, by place in `imperfections.slow_links`. A link counts once, also where
/// the flow passes both its ends.
std::set<int> slow_links_of(const des::Flow& flow, const UnfoldedStep& unfolded) {
  std::set<int> parts;
  for (const des::LinkId link : flow.route)
    for (const int part : unfolded.link_parts.of(link.value)) parts.insert(part);
  return parts;
}

/// Returns the rank beside the slowest slow link on the way of a flow, among the ranks that move it. Returns the first
/// rank when there is no slow link.
StageRank rank_beside(const des::Flow& flow, const UnfoldedStep& unfolded, const std::vector<StageRank>& members) {
  StageRank rank = members.front();
  BytesPerSecond least(std::numeric_limits<double>::infinity());
  for (const des::LinkId link : flow.route) {
    const BytesPerSecond capacity = unfolded.graph.links()[link.value];
    const std::span<const StageRank> beside = unfolded.beside.of(link.value);
    if (capacity >= least) continue;
    const auto found = std::find_first_of(members.begin(), members.end(), beside.begin(), beside.end());
    if (found == members.end()) continue;
    rank = *found;
    least = capacity;
  }
  return rank;
}

/// Returns the first rank of an expert group.
StageRank first_rank(const job::ImbalancedExperts& experts, const UnfoldedStep& unfolded) {
  return unfolded.ranks.teams(net::kExpertLayerAxes).members(id_of<ranks::Team>(experts.group)).front();
}

/// Returns the entry with the most time, the first on a tie. Precondition: `times` is not empty.
template <class Key>
Key longest(const std::map<Key, des::Duration>& times) {
  return std::max_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

Waits waits_of(const UnfoldedStep& unfolded, const job::Imperfections& imperfections, const des::RunResult& run) {
  Waits waits;
  const bool gpus = !unfolded.slowest.empty(), links = !unfolded.link_parts.empty();
  const bool experts = !unfolded.hottest.empty();
  if (!gpus && !links && !experts) return waits;
  for (const des::TaskId task :
       critical_path(unfolded.graph, run, [](std::uint32_t, std::uint32_t) { return false; })) {
    const des::Duration time = des::end_of(task, unfolded.graph, run) - run.start[task.value];
    const ranks::Origin origin = unfolded.origin_of(task);
    if (const std::optional<Rank> rank = gpus ? unfolded.slowest[origin.instance] : std::nullopt) {
      waits.by_gpu[imperfections.gpu_of(*rank)] += time;
      waits.by_stage_rank[unfolded.ranks.of(*rank)] += time;
    }
    if (const std::optional<std::size_t> place = experts ? unfolded.hottest[origin.instance] : std::nullopt) {
      waits.by_experts[*place] += time;
      if (!gpus || !unfolded.slowest[origin.instance])
        waits.by_stage_rank[first_rank(imperfections.imbalanced_experts[*place], unfolded)] += time;
    }
    if (!links || unfolded.graph.kind(task) != des::TaskKind::kFlow) continue;
    const des::Duration moves = time - unfolded.graph.duration(task);
    const des::Flow& flow = flow_of(task, unfolded);
    const std::set<int> slow = slow_links_of(flow, unfolded);
    for (const int part : slow) waits.by_link[part] += moves;
    const AxisSet together = unfolded.tasks[origin.folded.value].together;
    if (!slow.empty() && !together.contains(Axis::kData) && !together.contains(Axis::kExpertData))
      waits.by_stage_rank[rank_beside(flow, unfolded, unfolded.members_of(origin))] += moves;
  }
  return waits;
}

StageRank rank_to_show(const Waits& waits, const UnfoldedStep& unfolded, const des::RunResult& run) {
  std::map<StageRank, des::Duration> of_it = waits.by_stage_rank;
  // A GPU that is faster than the others may hold the path for no time.
  std::erase_if(of_it, [](const auto& each) { return each.second == des::Duration{}; });
  if (of_it.empty()) return ranks::last_rank(unfolded, run);
  const ranks::Teams& replicas = unfolded.ranks.teams(net::kLayerAxes);
  std::map<ranks::Team, des::Duration> by_replica;
  for (const auto& [rank, time] : of_it) by_replica[replicas.of(rank)] += time;
  const ranks::Team replica = longest(by_replica);
  std::erase_if(of_it, [&](const auto& each) { return replicas.of(each.first) != replica; });
  return longest(of_it);
}

}  // namespace foretoken::observe

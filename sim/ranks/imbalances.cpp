// Finds the hottest expert group of a task.
#include "sim/ranks/imbalances.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::ranks {

Imbalances::Imbalances(const step::LoweredStep& step, const job::Job& job)
    : step_(step), others_(job.routing.imbalance), group_size_(job.grid().degree(net::kExpertLayerAxes)) {
  const auto& stated = job.imperfections.imbalanced_experts;
  for (std::size_t place = 0; place < stated.size(); ++place) {
    const job::ImbalancedExperts& group = stated[place];
    const auto lowered = std::ranges::find_if(
        step.imbalanced, [&](const step::LoweredStep& each) { return each.imbalance == group.imbalance; });
    expects(lowered != step.imbalanced.end(), "a step is lowered for every imbalance of its job");
    stages_[group.stage].emplace(group.group, Group{group.imbalance, place, &*lowered});
  }
}

Imbalances::Found Imbalances::of(des::TaskId task, std::span<const StageRank> members) const {
  const step::Meaning& meaning = step_.workload.meaning[task.value];
  const auto groups = stages_.find(meaning.stage);
  if (meaning.kind != step::TaskMeaning::kPass || groups == stages_.end()) return {&step_};
  const Group* hottest = nullptr;
  bool only_stated = true;
  for (const StageRank member : members) {
    const auto found = groups->second.find(member.number() / group_size_);
    if (found == groups->second.end()) {
      only_stated = false;
    } else if (hottest == nullptr || found->second.imbalance > hottest->imbalance) {
      hottest = &found->second;
    }
  }
  if (hottest == nullptr || (!only_stated && hottest->imbalance < others_)) return {&step_};
  const bool waits = hottest->step->workload.graph.duration(task) > step_.workload.graph.duration(task);
  return {hottest->step, waits ? std::optional(hottest->place) : std::nullopt};
}

}  // namespace foretoken::ranks

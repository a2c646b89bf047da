// Finds the expert groups of ranks.
#include "sim/ranks/imbalances.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::ranks {

Imbalances::Imbalances(const step::LoweredStep& step, const job::Job& job)
    : step_(step), group_size_(job.grid().degree(net::kExpertLayerAxes)) {
  const auto& stated = job.imperfections.imbalanced_experts;
  for (std::size_t place = 0; place < stated.size(); ++place) {
    const job::ImbalancedExperts& group = stated[place];
    const auto lowered = std::ranges::find_if(
        step.imbalanced, [&](const step::LoweredStep& each) { return each.imbalance == group.imbalance; });
    expects(lowered != step.imbalanced.end(), "a step is lowered for every imbalance of its job");
    stages_[group.stage].emplace(group.group, Group{place, &*lowered});
  }
}

std::vector<Imbalances::Part> Imbalances::parts_of(Stage stage, std::span<const StageRank> members) const {
  const std::map<int, Group>& groups = stages_.at(stage);
  Part others{&step_};
  std::map<int, Part> stated;  // by number of the group
  for (const StageRank member : members) {
    const int number = member.number() / group_size_;
    const auto group = groups.find(number);
    if (group == groups.end()) {
      others.members.push_back(member);
    } else {
      const Part part{group->second.step, group->second.place};
      stated.try_emplace(number, part).first->second.members.push_back(member);
    }
  }

  std::vector<Part> parts;
  if (!others.members.empty()) parts.push_back(std::move(others));
  for (auto& [number, part] : stated) parts.push_back(std::move(part));
  return parts;
}

}  // namespace foretoken::ranks

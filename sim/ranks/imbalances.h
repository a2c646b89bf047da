// Expert groups with an imbalance of their own, and the tasks that wait for them.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "sim/ranks/stage_ranks.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {

class Imbalances {
 public:
  /// Both arguments must outlive this object.
  Imbalances(const step::LoweredStep& step, const job::Job& job);

  /// Returns true when any expert group has an imbalance of its own.
  [[nodiscard]] bool any() const { return !stages_.empty(); }

  /// The step in which a task lasts as long as its ranks need, and the group that they wait for.
  struct Found {
    const step::LoweredStep* step;
    std::optional<std::size_t> group{};  ///< place among the scenario's imbalanced experts; none: no such group
  };
  /// Returns the step of the hottest expert group that `members` carry out folded task `task` in. They wait for this
  /// group in every layer with experts.
  [[nodiscard]] Found of(des::TaskId task, std::span<const StageRank> members) const;

 private:
  struct Group {
    double imbalance;
    std::size_t place;  // among the scenario's imbalanced experts
    const step::LoweredStep* step;
  };
  const step::LoweredStep& step_;
  const double others_;  // imbalance of all other groups
  int group_size_;       // ranks of an expert group, which follow one another on their stage
  std::map<Stage, std::map<int, Group>> stages_;  // by number of the group
};

}  // namespace foretoken::ranks

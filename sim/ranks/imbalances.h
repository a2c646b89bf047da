// Expert groups with an imbalance of their own, and the ranks of a task that are in them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/ranks/stage_ranks.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {

class Imbalances {
 public:
  /// Both arguments must outlive this object.
  Imbalances(const step::LoweredStep& step, const job::Job& job);

  /// Returns true when any expert group has an imbalance of its own.
  [[nodiscard]] bool any() const { return !stages_.empty(); }
  /// Returns true when the time of a task may depend on the expert group of its ranks.
  [[nodiscard]] bool concern(const step::Meaning& meaning) const {
    return meaning.kind == step::TaskMeaning::kPass && stages_.contains(meaning.stage);
  }

  /// Ranks whose experts have one imbalance, and the step in which all ranks have it.
  struct Part {
    const step::LoweredStep* step;
    std::optional<std::size_t> group{};  ///< place among the scenario's imbalanced experts; none: all other groups
    std::vector<StageRank> members{};
  };
  /// Cuts `members` of `stage` by expert group. All groups without an imbalance of their own come first, as one part.
  /// Precondition: the stage has a group with one.
  [[nodiscard]] std::vector<Part> parts_of(Stage stage, std::span<const StageRank> members) const;

 private:
  struct Group {
    std::size_t place;  // among the scenario's imbalanced experts
    const step::LoweredStep* step;
  };
  const step::LoweredStep& step_;
  int group_size_;                                // ranks of an expert group, which follow one another on their stage
  std::map<Stage, std::map<int, Group>> stages_;  // by number of the group
};

}  // namespace foretoken::ranks

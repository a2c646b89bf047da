// The ranks of one pipeline stage, and the teams of them that carry tasks out together.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/net/rank_grid.h"

namespace foretoken::ranks {

/// The ranks of a stage cut into teams: ranks that differ in some axes and in no other.
class Teams {
 public:
  Teams() = default;
  explicit Teams(const net::RankGroups& groups);

  [[nodiscard]] int count() const { return static_cast<int>(members_.size()) / size_; }
  /// The team of stage rank `rank`. Teams are numbered in the order of their lowest ranks.
  [[nodiscard]] int of(int rank) const { return team_[static_cast<std::size_t>(rank)]; }
  /// The stage ranks of a team, ascending.
  [[nodiscard]] std::span<const int> members(int team) const {
    const auto size = static_cast<std::size_t>(size_);
    return std::span(members_).subspan(static_cast<std::size_t>(team) * size, size);
  }

 private:
  int size_ = 1;
  std::vector<int> team_;     // by stage rank
  std::vector<int> members_;  // team by team
};

class StageRanks {
 public:
  /// Of a stage with a single rank.
  StageRanks() : StageRanks(net::RankGrid(PerAxis<int>(1))) {}
  /// Of any stage of this grid.
  explicit StageRanks(const net::RankGrid& grid);

  [[nodiscard]] int count() const { return count_; }
  /// The teams of ranks that differ in `axes`. Precondition: they are axes of a stage.
  [[nodiscard]] const Teams& teams(AxisSet axes) const { return teams_[axes.index()]; }

 private:
  int count_ = 1;
  std::array<Teams, kAxisSets> teams_;  // by set of axes; filled for those of a stage
};

}  // namespace foretoken::ranks

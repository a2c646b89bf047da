// The ranks of one pipeline stage, and the teams that carry tasks out together.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/base/table.h"
#include "sim/net/rank_grid.h"

namespace foretoken::ranks {

using Team = Id<struct TeamTag>;  ///< number of a team among the teams of a stage

/// The ranks of a stage cut into teams: ranks that differ in some axes and in no other.
class Teams {
 public:
  Teams() = default;
  explicit Teams(const net::RankGroups& groups);

  [[nodiscard]] std::size_t count() const { return members_.size() / size_; }
  [[nodiscard]] IdRange<Team> all() const { return ids<Team>(count()); }
  /// Returns the team of stage rank `rank`. Teams are numbered in the order of their lowest ranks.
  [[nodiscard]] Team of(StageRank rank) const { return team_[rank]; }
  /// Returns the stage ranks of a team, ascending.
  [[nodiscard]] std::span<const StageRank> members(Team team) const {
    return std::span(members_).subspan(team.index() * size_, size_);
  }

 private:
  std::size_t size_ = 1;
  Table<StageRank, Team> team_;
  std::vector<StageRank> members_;  // team by team
};

class StageRanks {
 public:
  /// Makes a stage with a single rank.
  StageRanks() : StageRanks(net::RankGrid(PerAxis<int>(1))) {}
  /// Makes any stage of this grid.
  explicit StageRanks(const net::RankGrid& grid);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] IdRange<StageRank> all() const { return ids<StageRank>(count_); }
  /// Returns the number of a rank of the job among the ranks of its stage.
  [[nodiscard]] StageRank of(Rank rank) const { return id_of<StageRank>(rank.number() % count_); }
  /// Returns the teams of ranks that differ in `axes`. Precondition: they are axes of a stage.
  [[nodiscard]] const Teams& teams(AxisSet axes) const { return teams_[axes.index()]; }

 private:
  int count_ = 1;
  std::array<Teams, kAxisSets> teams_;  // by set of axes; filled for the axes of a stage
};

}  // namespace foretoken::ranks

// The ranks of one pipeline stage, and the teams that carry tasks out together.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/base/table.h"
#include "sim/net/rank_grid.h"

namespace foretoken::ranks {

using Team = Id<struct TeamTag>;  ///< number of a team among the teams of a stage

/// The ranks of a stage cut into teams. Every rank is in one team.
class Teams {
 public:
  Teams() = default;
  /// Makes teams of the ranks that share a name. The lowest rank of a team names it.
  explicit Teams(const Table<StageRank, StageRank>& names);

  [[nodiscard]] std::size_t ranks() const { return members_.size(); }
  [[nodiscard]] std::size_t count() const { return begin_.size() - 1; }
  [[nodiscard]] IdRange<Team> all() const { return ids<Team>(count()); }
  /// Returns the team of stage rank `rank`. Teams are numbered in the order of their lowest ranks.
  [[nodiscard]] Team of(StageRank rank) const { return team_[rank]; }
  /// Returns the stage ranks of a team, ascending.
  [[nodiscard]] std::span<const StageRank> members(Team team) const {
    const std::uint32_t begin = begin_[team.index()];
    return std::span(members_).subspan(begin, begin_[team.index() + 1] - begin);
  }
  /// Returns the lowest rank of the team of `rank`.
  [[nodiscard]] StageRank first_of(StageRank rank) const { return members_[begin_[team_[rank].index()]]; }

 private:
  Table<StageRank, Team> team_;
  std::vector<std::uint32_t> begin_{0};  // by team: the place of its first member; and the end
  std::vector<StageRank> members_;       // team by team
};

/// Returns the smallest teams that hold every team of `a` and of `b` whole. Two ranks are in one team when a chain of
/// teams links them. Precondition: both cut the same stage.
[[nodiscard]] Teams joined(const Teams& a, const Teams& b);

/// Returns the ranks that a team of `a` and a team of `b` have in common, for every such pair. Precondition: both cut
/// the same stage.
[[nodiscard]] Teams in_common(const Teams& a, const Teams& b);

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
  /// Returns the teams of ranks that differ in `axes`. With axes of both grids these are the joined teams of each.
  /// Precondition: they are axes of a stage, of one grid, or net::kLayerAxes with some of net::kExpertLayerAxes.
  [[nodiscard]] const Teams& teams(AxisSet axes) const { return teams_[axes.index()]; }

 private:
  int count_ = 1;
  std::array<Teams, kAxisSets> teams_;  // by set of axes; filled for the axes of a stage
};

}  // namespace foretoken::ranks

// Cuts the ranks of one pipeline stage into teams.
//
// Dense layers and experts number the same ranks by different axes. Teams of both are therefore compared by their
// ranks: joined() where tasks of both grids wait for one another, in_common() where a task of one follows a task of the
// other.
#include "sim/ranks/stage_ranks.h"

#include <numeric>
#include <optional>

namespace foretoken::ranks {
namespace {

using Names = Table<StageRank, StageRank>;

/// Returns a table in which every rank names itself.
Names own_names(std::size_t ranks) {
  Names names(ranks);
  for (const StageRank rank : names.ids()) names[rank] = rank;
  return names;
}

/// Returns the lowest rank known to be in the team of `rank`. Shortens the chain of names on the way.
StageRank lowest(Names& names, StageRank rank) {
  while (names[rank] != rank) rank = names[rank] = names[names[rank]];
  return rank;
}

Teams teams_of(const net::RankGroups& groups) {
  Names names(static_cast<std::size_t>(groups.gpus()));
  for (const StageRank rank : names.ids()) names[rank] = StageRank{groups.first_of(Rank{rank.value}).value};
  return Teams(names);
}

}  // namespace

Teams::Teams(const Names& names) : team_(names.size()) {
  for (const StageRank rank : names.ids()) {
    if (names[rank] == rank) {
      team_[rank] = Team{static_cast<std::uint32_t>(count())};
      begin_.push_back(0);
    } else {
      team_[rank] = team_[names[rank]];
    }
    ++begin_[team_[rank].index() + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  members_.resize(names.size());
  std::vector<std::uint32_t> next = begin_;
  for (const StageRank rank : names.ids()) members_[next[team_[rank].index()]++] = rank;
}

Teams joined(const Teams& a, const Teams& b) {
  Names names = own_names(a.ranks());
  for (const Teams* teams : {&a, &b})
    for (const StageRank rank : names.ids()) {
      const StageRank one = lowest(names, rank), other = lowest(names, teams->first_of(rank));
      names[std::max(one, other)] = std::min(one, other);
    }
  for (const StageRank rank : names.ids()) names[rank] = lowest(names, rank);
  return Teams(names);
}

Teams in_common(const Teams& a, const Teams& b) {
  Names names(a.ranks());
  Table<Team, std::optional<StageRank>> first(b.count());  // by team of b: its first rank in the team of a
  for (const Team team : a.all()) {
    for (const StageRank rank : a.members(team)) {
      std::optional<StageRank>& name = first[b.of(rank)];
      if (!name) name = rank;
      names[rank] = *name;
    }
    for (const StageRank rank : a.members(team)) first[b.of(rank)].reset();
  }
  return Teams(names);
}

// Inside one stage the number of a rank is its number among the stage's ranks, whatever the order of ranks is.
StageRanks::StageRanks(const net::RankGrid& grid) : count_(grid.stage_ranks()) {
  PerAxis<int> degrees(1);
  for (const auto& [axis, name] : kAxisNames)
    if (axis != Axis::kPipeline) degrees[axis] = grid.degree(axis);
  const net::RankGrid stage(degrees);
  for (std::size_t set = 0; set < kAxisSets; ++set) {
    const AxisSet axes = AxisSet::at(set);
    if (net::kStageAxes.contains(axes) || net::kExpertStageAxes.contains(axes))
      teams_[set] = teams_of(stage.groups(axes));
  }
  for (const AxisSet experts : {AxisSet(Axis::kExpertTensor), AxisSet(Axis::kExpert), net::kExpertLayerAxes})
    teams_[(net::kLayerAxes | experts).index()] = joined(teams(net::kLayerAxes), teams(experts));
}

}  // namespace foretoken::ranks

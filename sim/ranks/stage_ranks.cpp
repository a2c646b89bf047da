// Cuts the ranks of one pipeline stage into teams.
#include "sim/ranks/stage_ranks.h"

namespace foretoken::ranks {

Teams::Teams(const net::RankGroups& groups) : size_(static_cast<std::size_t>(groups.size())), team_(groups.gpus()) {
  members_.reserve(team_.size());
  for (const Rank first : ids<Rank>(groups.gpus())) {
    if (groups.first_of(first) != first) continue;
    const Team team{static_cast<std::uint32_t>(count())};
    for (const Rank member : groups.members(first)) {
      const StageRank rank{member.value};
      team_[rank] = team;
      members_.push_back(rank);
    }
  }
}

// Inside one stage the number of a rank is its number among the stage's ranks, whatever the order of ranks is.
StageRanks::StageRanks(const net::RankGrid& grid) : count_(grid.stage_ranks()) {
  PerAxis<int> degrees(1);
  for (const auto& [axis, name] : kAxisNames)
    if (net::kStageAxes.contains(axis)) degrees[axis] = grid.degree(axis);
  const net::RankGrid stage(degrees);
  for (std::size_t set = 0; set < kAxisSets; ++set)
    if (const AxisSet axes = AxisSet::at(set); net::kStageAxes.contains(axes)) teams_[set] = Teams(stage.groups(axes));
}

}  // namespace foretoken::ranks

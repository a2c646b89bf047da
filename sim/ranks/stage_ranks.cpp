// The ranks of one pipeline stage, and the teams of them.
#include "sim/ranks/stage_ranks.h"

namespace foretoken::ranks {

Teams::Teams(const net::RankGroups& groups) : size_(groups.size()), team_(static_cast<std::size_t>(groups.gpus())) {
  members_.reserve(team_.size());
  for (const Rank first : ids<Rank>(groups.gpus())) {
    if (groups.first_of(first) != first) continue;
    const int team = static_cast<int>(members_.size()) / size_;
    for (const Rank member : groups.members(first)) {
      team_[member.index()] = team;
      members_.push_back(member.number());
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

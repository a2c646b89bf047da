// Tests the teams of a stage's ranks against their definition, on grids of dense layers and of experts.
#include "sim/ranks/stage_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

namespace foretoken::ranks {
namespace {

using Ranks = std::set<int>;

Ranks members_of(const Teams& teams, StageRank rank) {
  Ranks members;
  for (const StageRank member : teams.members(teams.of(rank))) members.insert(member.number());
  return members;
}

struct Grid {
  const char* name;
  PerAxis<int> degrees;
};

const Grid kGrids[] = {
    {"experts in one tensor group", PerAxis<int>(1, {{Axis::kTensor, 4}, {Axis::kData, 2}, {Axis::kExpert, 2}})},
    {"experts over two replicas", PerAxis<int>(1, {{Axis::kTensor, 2}, {Axis::kData, 4}, {Axis::kExpert, 4}})},
    {"tensor ranks share experts",
     PerAxis<int>(1, {{Axis::kTensor, 2}, {Axis::kData, 4}, {Axis::kExpertTensor, 2}, {Axis::kExpert, 2}})},
    {"groups that overlap",
     PerAxis<int>(1, {{Axis::kTensor, 3}, {Axis::kContext, 2}, {Axis::kData, 4}, {Axis::kExpert, 4}})}};

/// Returns the ranks that a chain of groups of `axes` joins with `rank`, step by step.
Ranks reached(const StageRanks& stage, StageRank rank, std::initializer_list<AxisSet> axes) {
  Ranks found{rank.number()};
  for (std::size_t before = 0; before < found.size();) {
    before = found.size();
    for (const int each : Ranks(found))
      for (const AxisSet set : axes) found.merge(members_of(stage.teams(set), id_of<StageRank>(each)));
  }
  return found;
}

TEST(StageRanks, TeamsAreTheGroupsOfTheJobsGridInBothOrdersOfRanks) {
  for (const Grid& each : kGrids)
    for (const net::RankOrder& order : {net::kPipelineSlowest, net::kDataSlowest}) {
      SCOPED_TRACE(std::string(each.name) + ", " + std::string(order.name));
      PerAxis<int> degrees = each.degrees;
      degrees[Axis::kPipeline] = 3;
      const int stage_ranks = product(degrees, net::kStageAxes);
      // Where data is slowest, both grids put the same ranks on a stage only with equal replicas.
      if (order.name == net::kDataSlowest.name &&
          product(degrees, net::kExpertLayerAxes) != product(degrees, net::kLayerAxes))
        continue;
      const net::RankGrid grid(degrees, order);
      const StageRanks stage(grid);
      ASSERT_EQ(stage.count(), stage_ranks);
      for (const AxisSet axes : {net::kLayerAxes, net::kReplicaAxes, net::kExpertLayerAxes, AxisSet(Axis::kExpert),
                                 AxisSet(Axis::kExpertData), AxisSet()})
        for (const Rank rank : ids<Rank>(grid.gpus())) {
          Ranks expected;
          const net::RankGroups groups = grid.groups(axes);
          for (const Rank member : groups.members(groups.first_of(rank)))
            expected.insert(grid.stage_rank_of(member).number());
          EXPECT_EQ(members_of(stage.teams(axes), grid.stage_rank_of(rank)), expected);
        }
    }
}

TEST(StageRanks, AxesOfBothGridsJoinRanksThatAnyChainOfGroupsLinks) {
  for (const Grid& each : kGrids) {
    SCOPED_TRACE(each.name);
    const StageRanks stage{net::RankGrid(each.degrees)};
    for (const StageRank rank : stage.all())
      EXPECT_EQ(members_of(stage.teams(net::kLayerAxes | net::kExpertLayerAxes), rank),
                reached(stage, rank, {net::kLayerAxes, net::kExpertLayerAxes}));
  }
}

TEST(StageRanks, RanksInCommonAreThoseOfBothTeams) {
  for (const Grid& each : kGrids) {
    SCOPED_TRACE(each.name);
    const StageRanks stage{net::RankGrid(each.degrees)};
    for (const AxisSet dense : {net::kLayerAxes, net::kReplicaAxes, net::kStageAxes, AxisSet()})
      for (const AxisSet experts : {net::kExpertLayerAxes, AxisSet(Axis::kExpertData), net::kExpertStageAxes}) {
        const Teams &a = stage.teams(dense), &b = stage.teams(experts);
        const Teams both = in_common(a, b);
        for (const StageRank rank : stage.all()) {
          const Ranks of_a = members_of(a, rank), of_b = members_of(b, rank);
          Ranks expected;
          std::ranges::set_intersection(of_a, of_b, std::inserter(expected, expected.end()));
          EXPECT_EQ(members_of(both, rank), expected);
        }
      }
  }
}

TEST(StageRanks, TeamsAreNumberedByTheirLowestRanks) {
  const StageRanks stage{net::RankGrid(kGrids[3].degrees)};
  const Teams both = in_common(stage.teams(net::kReplicaAxes), stage.teams(net::kExpertLayerAxes));
  int lowest = -1;
  std::size_t ranks = 0;
  for (const Team team : both.all()) {
    EXPECT_TRUE(std::ranges::is_sorted(both.members(team)));
    EXPECT_GT(both.members(team).front().number(), lowest);
    lowest = both.members(team).front().number();
    EXPECT_EQ(both.first_of(both.members(team).back()), both.members(team).front());
    ranks += both.members(team).size();
  }
  EXPECT_EQ(ranks, both.ranks());
}

}  // namespace
}  // namespace foretoken::ranks

// Checks small grids by hand, in both orders and with experts, and every order against coordinates.
#include "sim/net/rank_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace foretoken::net {
namespace {

using Groups = std::vector<std::vector<int>>;

Groups groups_of(const RankGrid& grid, AxisSet axes) {
  Groups groups;
  for (const auto& ranks : grid.groups(axes).all()) {
    auto& group = groups.emplace_back();
    for (const Rank rank : ranks) group.push_back(rank.number());
  }
  return groups;
}

const PerAxis<int> kEightGpus(1, {{Axis::kTensor, 2}, {Axis::kData, 2}, {Axis::kPipeline, 2}});

TEST(RankGrid, ThePipelineIsTheSlowestAxisByDefault) {
  const RankGrid grid(kEightGpus);
  EXPECT_EQ(groups_of(grid, Axis::kTensor), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups_of(grid, Axis::kData), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of(grid, Axis::kPipeline), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups_of(grid, kStageAxes), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groups_of(grid, {Axis::kTensor, Axis::kPipeline}), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(groups_of(grid, kDenseAxes).size(), 1U);
  EXPECT_EQ(groups_of(grid, Axis::kContext).size(), 8U) << "an axis of one rank: groups of one";
}

TEST(RankGrid, TheOtherOrderPutsThePipelineBeforeData) {
  const RankGrid grid(kEightGpus, kDataSlowest);
  EXPECT_EQ(groups_of(grid, Axis::kTensor), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(groups_of(grid, Axis::kPipeline), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of(grid, Axis::kData), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups_of(grid, kStageAxes), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(grid.rank_of(Stage{1}, StageRank{2}), Rank{6});
  EXPECT_EQ(grid.stage_of(Rank{6}), Stage{1});
  EXPECT_EQ(grid.stage_rank_of(Rank{6}), StageRank{2});
  EXPECT_FALSE(grid.hop_crosses_nodes(Stage{0}, 4)) << "both stages of a replica are on one node";
  EXPECT_TRUE(grid.hop_crosses_nodes(Stage{0}, 2));
  EXPECT_EQ(grid.senders_per_node(4), 2) << "a node of 4 has two ranks of each stage";
  EXPECT_EQ(RankGrid(kEightGpus).senders_per_node(4), 4);
}

// Tensor 2 x context 2 x data 4 is 16 ranks. An expert group of 8 holds all of tensor and context, and half of data.
TEST(RankGrid, ExpertGroupsSpanTensorContextAndDataRanks) {
  PerAxis<int> degrees(1, {{Axis::kTensor, 2}, {Axis::kContext, 2}, {Axis::kData, 4}, {Axis::kExpert, 8}});
  const RankGrid wide(degrees);
  EXPECT_EQ(wide.degree(Axis::kExpertData), 2);
  EXPECT_EQ(groups_of(wide, Axis::kExpert), (Groups{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(groups_of(wide, Axis::kExpertData)[3], (std::vector{3, 11}));
  EXPECT_EQ(groups_of(wide, kReplicaAxes), (Groups{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}}));
  EXPECT_EQ(wide.shape(Axis::kExpert, 8), (GroupShape{8, 1, 8, 1})) << "inside a node";
  EXPECT_EQ(wide.shape(Axis::kExpertData, 8), (GroupShape{2, 2, 1, 8})) << "eight groups share a node's NICs";

  degrees[Axis::kExpert] = 4;
  degrees[Axis::kExpertTensor] = 2;
  const RankGrid cut(degrees);
  EXPECT_EQ(groups_of(cut, Axis::kExpertTensor).front(), (std::vector{0, 1}));
  EXPECT_EQ(groups_of(cut, Axis::kExpert)[1], (std::vector{1, 3, 5, 7}));
  EXPECT_EQ(groups_of(cut, {Axis::kExpertTensor, Axis::kExpertData}).front(), (std::vector{0, 1, 8, 9}));
}

TEST(RankGrid, EveryStageHasExpertGroupsOfItsOwn) {
  const RankGrid grid(PerAxis<int>(1, {{Axis::kData, 2}, {Axis::kPipeline, 2}, {Axis::kExpert, 2}}));
  EXPECT_EQ(groups_of(grid, Axis::kExpert), (Groups{{0, 1}, {2, 3}}));
  EXPECT_EQ(groups_of(grid, {Axis::kExpert, Axis::kPipeline}), (Groups{{0, 1, 2, 3}}));
}

/// Groups the ranks that agree in every other coordinate of their grid, by comparing coordinates.
Groups as_compared(const RankGrid& grid, AxisSet axes) {
  const AxisSet all = kDenseAxes.contains(axes) ? kDenseAxes : kExpertAxes;
  std::map<std::vector<int>, std::vector<int>> by_others;
  for (const Rank rank : ids<Rank>(grid.gpus())) {
    std::vector<int> others;
    for (const auto& [axis, name] : kAxisNames)
      if (all.contains(axis) && !axes.contains(axis)) others.push_back(grid.coordinate(rank, axis));
    by_others[others].push_back(rank.number());
  }
  Groups groups;
  for (const auto& [others, ranks] : by_others) groups.push_back(ranks);
  std::sort(groups.begin(), groups.end());
  return groups;
}

/// The oracle of shapes counts the worst group and the busiest node from the lists of ranks.
GroupShape as_counted(const Groups& groups, int domain) {
  GroupShape worst{.ranks = 0, .nodes = 0, .ranks_per_node = 0, .groups_per_node = 1};
  std::map<int, int> leaving;
  for (const auto& ranks : groups) {
    std::map<int, int> on_node;
    for (const int rank : ranks) ++on_node[rank / domain];
    int fewest = static_cast<int>(ranks.size());
    for (const auto& [node, members] : on_node) fewest = std::min(fewest, members);
    if (on_node.size() > 1)
      for (const auto& [node, members] : on_node)
        worst.groups_per_node = std::max(worst.groups_per_node, ++leaving[node]);
    const int nodes = static_cast<int>(on_node.size());
    if (std::pair(nodes, -fewest) > std::pair(worst.nodes, -worst.ranks_per_node))
      worst = {static_cast<int>(ranks.size()), nodes, fewest, worst.groups_per_node};
  }
  return worst;
}

TEST(RankGrid, EverySetOfAxesInBothOrdersAsComparedAndCounted) {
  const PerAxis<int> degrees(1, {{Axis::kTensor, 2},
                                 {Axis::kContext, 2},
                                 {Axis::kData, 3},
                                 {Axis::kPipeline, 3},
                                 {Axis::kExpertTensor, 2},
                                 {Axis::kExpert, 2}});
  for (const RankOrder& order : {kPipelineSlowest, kDataSlowest}) {
    const RankGrid grid(degrees, order);
    for (const auto& axes : {order.dense, order.expert})
      for (unsigned set = 1; set < 16; ++set) {
        AxisSet chosen;
        for (unsigned axis = 0; axis < 4; ++axis)
          if ((set >> axis & 1U) != 0) chosen = chosen | axes[axis];
        const Groups compared = as_compared(grid, chosen);
        ASSERT_EQ(groups_of(grid, chosen), compared) << order.name << ", set " << set;
        for (const int domain : {1, 2, 3, 4, 5, 8, 36})
          ASSERT_EQ(grid.shape(chosen, domain), as_counted(compared, domain))
              << order.name << ", set " << set << ", nodes of " << domain;
      }
    for (const Rank rank : ids<Rank>(grid.gpus()))
      ASSERT_EQ(grid.rank_of(grid.stage_of(rank), grid.stage_rank_of(rank)), rank) << order.name;
  }
}

}  // namespace
}  // namespace foretoken::net

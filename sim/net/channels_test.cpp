// Checks rings and trees against NCCL's own drawings and rules.
#include "sim/net/channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

namespace foretoken::net {
namespace {

using Parents = std::vector<int>;  // -1: the root

Parents parents_of(const Tree& tree) {
  Parents parents;
  for (const TreePlace& place : tree) parents.push_back(place.parent.value_or(-1));
  return parents;
}

std::vector<FabricGpu> first_gpus(int count) {
  std::vector<FabricGpu> gpus;
  for (const FabricGpu gpu : ids<FabricGpu>(count)) gpus.push_back(gpu);
  return gpus;
}

// Returns the GPUs of each hop: from, to and via.
std::vector<std::array<int, 3>> numbers_in(const std::vector<Hop>& hops) {
  std::vector<std::array<int, 3>> all;
  for (const Hop& hop : hops) all.push_back({hop.from.number(), hop.to.number(), hop.via.number()});
  return all;
}

// The drawings in nccl src/graph/trees.cc: 14 ranks plain, 12 ranks mirrored, 13 ranks shifted.
TEST(Trees, EqualTheDrawingsOfNccl) {
  EXPECT_EQ(parents_of(double_binary_tree(14)[0]), (Parents{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}));
  const auto twelve = double_binary_tree(12);
  EXPECT_EQ(parents_of(twelve[0]), (Parents{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 8, 10}));
  EXPECT_EQ(parents_of(twelve[1]), (Parents{1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1}));
  const auto odd = double_binary_tree(13);
  EXPECT_EQ(parents_of(odd[0]), (Parents{-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8}));
  EXPECT_EQ(parents_of(odd[1]), (Parents{9, -1, 3, 5, 3, 9, 7, 5, 7, 1, 11, 0, 11}));
}

TEST(Trees, ChildrenStandInTheSlotsOfTheirNumbers) {
  const Tree tree = double_binary_tree(14)[0];
  EXPECT_EQ(tree[0], (TreePlace{std::nullopt, {std::nullopt, 8}}));
  EXPECT_EQ(tree[8], (TreePlace{0, {4, 12}}));
  EXPECT_EQ(tree[12], (TreePlace{8, {10, 13}}));
  EXPECT_EQ(tree[13], (TreePlace{12, {std::nullopt, std::nullopt}}));
}

TEST(Trees, SpanAllNodesAndNobodyIsInnerInBoth) {
  for (int nodes = 1; nodes <= 130; ++nodes) {
    SCOPED_TRACE(nodes);
    const auto both = double_binary_tree(nodes);
    for (const Tree& tree : both) {
      int roots = 0;
      for (std::size_t node = 0; node < tree.size(); ++node) {
        roots += tree[node].parent ? 0 : 1;
        std::size_t at = node, steps = 0;
        while (tree[at].parent && ++steps <= tree.size()) at = static_cast<std::size_t>(*tree[at].parent);
        EXPECT_LE(steps, 2 * std::bit_width(tree.size())) << "the tree is shallow and has no cycle";
      }
      EXPECT_EQ(roots, 1);
    }
    for (std::size_t node = 0; nodes > 2 && node < both[0].size(); ++node) {
      const auto inner = [&](const Tree& tree) { return tree[node].children[0].has_value(); };
      EXPECT_FALSE(inner(both[0]) && inner(both[1])) << node;
    }
  }
}

TEST(Rings, GoThroughEveryGpuOnceAndLeaveEachNodeOnOneRail) {
  const std::vector<FabricGpu> gpus = first_gpus(32);
  const Members members = members_of(gpus, 8);
  for (int exit = 0; exit < 8; ++exit) {
    const std::vector<Hop> ring = ring_hops(members, exit);
    ASSERT_EQ(ring.size(), 32U);
    std::set<FabricGpu> senders, receivers;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      senders.insert(ring[i].from);
      receivers.insert(ring[i].to);
      EXPECT_EQ(ring[i].to, ring[(i + 1) % ring.size()].from) << "one cycle";
      const int from = ring[i].from.number() / 8, to = ring[i].to.number() / 8;
      if (from != to) {
        EXPECT_EQ(ring[i].via.number() % 8, exit);
        EXPECT_EQ(to, (from + 1) % 4) << "nodes in order";
      }
    }
    EXPECT_EQ(senders.size(), 32U);
    EXPECT_EQ(receivers.size(), 32U);
  }
}

// Two nodes of four GPUs, channel 1: the chains are 1-2-3-0 and 5-6-7-4. Node 1 hangs on the head of node 0, as its
// second child.
TEST(TreeChannels, HangChainsOnHeads) {
  const Members members = members_of(first_gpus(8), 4);
  const std::vector<Hop> hops = tree_hops(members, double_binary_tree(2)[0], 1);
  const std::vector<std::array<int, 3>> expected = {{2, 1, 2}, {1, 2, 1}, {3, 2, 3}, {2, 3, 2}, {0, 3, 0},
                                                    {3, 0, 3}, {5, 1, 5}, {1, 5, 1}, {6, 5, 6}, {5, 6, 5},
                                                    {7, 6, 7}, {6, 7, 6}, {4, 7, 4}, {7, 4, 7}};
  EXPECT_EQ(numbers_in(hops), expected);
}

TEST(TreeChannels, TheFirstChildArrivesAtTheSecondOfTheChain) {
  const Members members = members_of(first_gpus(8), 2);  // four nodes; node 2 has the children 1 and 3
  const std::vector<Hop> hops = tree_hops(members, double_binary_tree(4)[0], 0);
  const auto has = [&](std::array<int, 3> hop) { return std::ranges::count(numbers_in(hops), hop) == 1; };
  EXPECT_TRUE(has({2, 5, 2})) << "node 1's head, GPU 2, sends to node 2's second GPU";
  EXPECT_TRUE(has({5, 2, 4})) << "and back through the NIC of node 2's head";
  EXPECT_TRUE(has({6, 4, 6})) << "node 3's head sends to node 2's head";
  EXPECT_TRUE(has({4, 0, 4})) << "which is the root's second child";
  EXPECT_EQ(head_hops(members, double_binary_tree(4)[0], 1).size(), 6U) << "three edges, both ways";
}

}  // namespace
}  // namespace foretoken::net

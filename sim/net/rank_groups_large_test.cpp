// Checks groups of Megatron's default order: the shapes of well-known jobs, and all small jobs against enumeration.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/base/test_sanitized.h"
#include "sim/net/rank_grid.h"
#include "sim/net/rank_groups.h"

namespace foretoken::net {

/// Degrees of the dense axes.
struct Degrees {
  int tensor = 1, context = 1, data = 1, pipeline = 1;
  [[nodiscard]] RankGrid grid() const {
    return RankGrid(PerAxis<int>(
        1, {{Axis::kTensor, tensor}, {Axis::kContext, context}, {Axis::kData, data}, {Axis::kPipeline, pipeline}}));
  }
};

/// Prints the values in a failure. The test library finds it by its name.
void PrintTo(const Degrees& d, std::ostream* out) {
  *out << "tensor " << d.tensor << " context " << d.context << " data " << d.data << " pipeline " << d.pipeline;
}

namespace {

enum class Kind { kTensor, kContext, kGradient };

GroupShape shape(Kind kind, Degrees degrees, int domain) {
  switch (kind) {
    case Kind::kTensor:
      return degrees.grid().shape(Axis::kTensor, domain);
    case Kind::kContext:
      return degrees.grid().shape(Axis::kContext, domain);
    case Kind::kGradient:
      return degrees.grid().shape(kReplicaAxes, domain);
  }
  return {};
}

struct ShapeCase {
  const char* name;
  Kind kind;
  Degrees degrees;
  int domain;
  GroupShape expected;
};

const ShapeCase kCases[] = {
    {"gradients of tensor 8 on nodes of 8: one rank a node, 8 rings share its NICs",
     Kind::kGradient,
     {.tensor = 8, .data = 32},
     8,
     {32, 32, 1, 8}},
    {"gradients of tensor 2: 4 ranks a node, 2 rings", Kind::kGradient, {.tensor = 2, .data = 32}, 8, {32, 8, 4, 2}},
    {"gradients of tensor 1: a node's 8 GPUs in one ring", Kind::kGradient, {.data = 32}, 8, {32, 4, 8, 1}},
    {"gradients of tensor 16: 8 rings a node, each on every second node",
     Kind::kGradient,
     {.tensor = 16, .data = 4},
     8,
     {4, 4, 1, 8}},
    {"tensor 16 spans two nodes", Kind::kTensor, {.tensor = 16, .data = 4}, 8, {16, 2, 8, 1}},
    {"tensor 4: two groups in a node, none uses a NIC", Kind::kTensor, {.tensor = 4, .data = 4}, 8, {4, 1, 4, 1}},
    {"tensor 6 on nodes of 8: ranks 6..11 straddle, 2 of them on the first node; a node holds the end of one group and "
     "the start of another",
     Kind::kTensor,
     {.tensor = 6, .data = 4},
     8,
     {6, 2, 2, 2}},
    {"context 2 beside tensor 4 stays in the node",
     Kind::kContext,
     {.tensor = 4, .context = 2, .data = 2},
     8,
     {2, 1, 2, 1}},
    {"context 4 beside tensor 4: two ranks on each of two nodes, 4 rings",
     Kind::kContext,
     {.tensor = 4, .context = 4, .data = 2},
     8,
     {4, 2, 2, 4}},
    {"gradients reduce over data x context",
     Kind::kGradient,
     {.tensor = 4, .context = 2, .data = 8, .pipeline = 4},
     8,
     {16, 8, 2, 4}},
    {"a job smaller than a node", Kind::kGradient, {.tensor = 2, .data = 2}, 8, {2, 1, 2, 1}},
    {"an NVL72 rack holds tensor 8 x data 9", Kind::kGradient, {.tensor = 8, .data = 9}, 72, {9, 1, 9, 1}},
    {"two racks", Kind::kGradient, {.tensor = 8, .data = 18}, 72, {18, 2, 9, 8}},
    {"one rank reduces nothing and uses no NIC", Kind::kGradient, {.tensor = 16}, 8, {1, 1, 1, 1}},
};

TEST(RankGroups, WellKnownJobs) {
  for (const ShapeCase& c : kCases) {
    SCOPED_TRACE(c.name);
    const GroupShape found = shape(c.kind, c.degrees, c.domain);
    EXPECT_EQ(found.ranks, c.expected.ranks);
    EXPECT_EQ(found.nodes, c.expected.nodes);
    EXPECT_EQ(found.ranks_per_node, c.expected.ranks_per_node);
    EXPECT_EQ(found.groups_per_node, c.expected.groups_per_node);
  }
}

/// Lists the groups of a kind as ranks, from the coordinates of every rank.
std::vector<std::vector<int>> enumerate(Kind kind, Degrees degrees) {
  std::map<std::tuple<int, int, int>, std::vector<int>> groups;
  int rank = 0;
  for (int p = 0; p < degrees.pipeline; ++p)
    for (int d = 0; d < degrees.data; ++d)
      for (int c = 0; c < degrees.context; ++c)
        for (int t = 0; t < degrees.tensor; ++t, ++rank) {
          if (kind == Kind::kTensor) groups[{p, d, c}].push_back(rank);
          if (kind == Kind::kContext) groups[{p, d, t}].push_back(rank);
          if (kind == Kind::kGradient) groups[{p, t, 0}].push_back(rank);
        }
  std::vector<std::vector<int>> lists;
  for (const auto& [key, ranks] : groups) lists.push_back(ranks);
  return lists;
}

/// The oracle counts the worst group and the busiest node.
GroupShape counted(Kind kind, Degrees degrees, int domain) {
  GroupShape worst{.ranks = 0, .nodes = 0, .ranks_per_node = 0, .groups_per_node = 1};
  std::map<int, int> crossing_on;
  for (const auto& ranks : enumerate(kind, degrees)) {
    std::map<int, int> on_node;
    for (const int rank : ranks) ++on_node[rank / domain];
    const int nodes = static_cast<int>(on_node.size());
    int fewest = static_cast<int>(ranks.size());
    for (const auto& [node, members] : on_node) {
      fewest = std::min(fewest, members);
      if (nodes > 1) worst.groups_per_node = std::max(worst.groups_per_node, ++crossing_on[node]);
    }
    worst.ranks = static_cast<int>(ranks.size());
    if (std::pair(nodes, -fewest) > std::pair(worst.nodes, -worst.ranks_per_node)) {
      worst.nodes = nodes;
      worst.ranks_per_node = fewest;
    }
  }
  return worst;
}

constexpr int kDomains[] = {1, 2, 3, 4, 6, 8, 9, 16, 72};

template <class Visit>
void for_all_small_jobs(Visit visit) {
  for (int t = 1; t <= 10; ++t)
    for (int c = 1; c <= 4; ++c)
      for (int d = 1; d <= 7; d += kSanitized ? 3 : 1)
        for (int p = 1; p <= 4; ++p)
          for (const int domain : kDomains) visit(Degrees{.tensor = t, .context = c, .data = d, .pipeline = p}, domain);
}

TEST(RankGroups, AllSmallJobsAsCounted) {
  for_all_small_jobs([](Degrees degrees, int domain) {
    for (const Kind kind : {Kind::kTensor, Kind::kContext, Kind::kGradient}) {
      ASSERT_EQ(shape(kind, degrees, domain), counted(kind, degrees, domain))
          << testing::PrintToString(degrees) << " on nodes of " << domain << ", kind " << static_cast<int>(kind);
    }
  });
}

/// The most GPUs on a node whose partner in the next stage lies elsewhere, and the stages with such GPUs.
struct Crossings {
  int most_on_a_node = 0;
  std::set<Stage> stages;
};

Crossings count_crossings(Degrees degrees, int domain) {
  Crossings result;
  std::map<int, int> on_node;
  const int stage_ranks = degrees.tensor * degrees.context * degrees.data;
  for (const Stage stage : ids<Stage>(degrees.pipeline))
    for (int r = 0; r < stage_ranks; ++r) {
      const int from = stage.number() * stage_ranks + r;
      const int to = (stage.number() + 1) % degrees.pipeline * stage_ranks + r;
      if (from / domain == to / domain) continue;
      result.stages.insert(stage);
      result.most_on_a_node = std::max(result.most_on_a_node, ++on_node[from / domain]);
    }
  return result;
}

TEST(RankGroups, PipelineHopsOfAllSmallJobsAsCounted) {
  for_all_small_jobs([](Degrees degrees, int domain) {
    const Crossings counted = count_crossings(degrees, domain);
    const std::string where = testing::PrintToString(degrees) + " on nodes of " + std::to_string(domain);
    const RankGrid grid = degrees.grid();
    for (const Stage stage : ids<Stage>(degrees.pipeline))
      ASSERT_EQ(grid.hop_crosses_nodes(stage, domain), counted.stages.contains(stage)) << where;
    const int senders = grid.senders_per_node(domain);
    ASSERT_GE(senders, counted.most_on_a_node) << where;
    const bool whole_nodes = grid.gpus() % domain == 0 && grid.gpus() >= 2 * domain;
    if (whole_nodes && degrees.pipeline > 1) {
      ASSERT_EQ(senders, counted.most_on_a_node) << where;
    }
  });
}

TEST(RankGroups, PipelineOfTheTrillionParameterRun) {
  const RankGrid grid = Degrees{.tensor = 8, .data = 6, .pipeline = 64}.grid();
  EXPECT_EQ(grid.gpus(), 3072);
  for (const Stage stage : ids<Stage>(64)) EXPECT_TRUE(grid.hop_crosses_nodes(stage, 8));
  EXPECT_EQ(grid.senders_per_node(8), 8);
}

TEST(RankGroups, TwoStagesInANodeCrossOnlyAtItsEnd) {
  const RankGrid grid = Degrees{.tensor = 4, .pipeline = 4}.grid();
  EXPECT_FALSE(grid.hop_crosses_nodes(Stage{0}, 8));
  EXPECT_TRUE(grid.hop_crosses_nodes(Stage{1}, 8));
  EXPECT_FALSE(grid.hop_crosses_nodes(Stage{2}, 8));
  EXPECT_TRUE(grid.hop_crosses_nodes(Stage{3}, 8)) << "the last stage sends to the first when interleaved";
  EXPECT_EQ(grid.senders_per_node(8), 4);
}

}  // namespace
}  // namespace foretoken::net

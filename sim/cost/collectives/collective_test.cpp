// Checks collectives: one case by hand for each placement, and rules that hold for every payload and group.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "sim/cost/collectives/measured_collectives.h"
#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"

namespace foretoken::cost {
namespace {

using enum CollectiveKind;
constexpr CollectiveKind kKinds[] = {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce};

const Profile& profile() {
  static const Profile a100 = example_a100_profile();
  return a100;
}

double seconds(CollectiveKind kind, double bytes, GroupShape group, const NodeLinks& links = dgx_a100()) {
  return collective_time({kind, Bytes(bytes), group}, links, profile()).value();
}

GroupShape in_node(int ranks) { return {.ranks = ranks, .nodes = 1, .ranks_per_node = ranks}; }
GroupShape across(int nodes, int ranks_per_node, int groups = 1) {
  return {.ranks = nodes * ranks_per_node, .nodes = nodes, .ranks_per_node = ranks_per_node, .groups_per_node = groups};
}

TEST(Collective, OneRankHasNothingToDo) {
  for (const CollectiveKind kind : kKinds) EXPECT_EQ(seconds(kind, 1e9, in_node(1)), 0);
}

TEST(Collective, AllReduceInsideANodeByHand) {
  const double x = 2 * 7.0 / 8 * 1e9 / 229e9;  // eight ranks, 1 GB
  EXPECT_NEAR(seconds(kAllReduce, 1e9, in_node(8)), 21e-6 + x + 4.3e-3 * std::sqrt(x), 1e-12);
}

TEST(Collective, PlateauBoundsTheBusBandwidth) {
  // Two ranks: the asymptote is 190 GB/s. With a plateau of 100, a large message cannot be faster than that.
  Profile capped = example_a100_profile();
  for (CollectiveCurve& curve : capped.nvlink.curves) curve.plateau = gigabytes_per_second(100);
  const double time = collective_time({kAllReduce, Bytes(1e9), in_node(2)}, dgx_a100(), capped).value();
  EXPECT_NEAR(time, 9e-6 + 1e9 / 100e9, 1e-12);
}

TEST(Collective, AllReduceAcrossNodesByHand) {
  // 4 nodes of 8 ranks: V = 2 x 31/32 GB over 200 GB/s, latency 47 + 2 x 10 us.
  const double x = 2 * 31.0 / 32 * 1e9 / 200e9;
  EXPECT_NEAR(seconds(kAllReduce, 1e9, across(4, 8)), 67e-6 + x + 0.0112 * std::sqrt(x), 1e-12);
}

TEST(Collective, LoneRanksOfEightGroupsGetOneNicEach) {
  const double x = 2 * 3.0 / 4 * 1e9 / (25e9 * 0.85 / 0.92);
  const double plateau = x / 0.95;  // large messages reach 0.95 of the rate
  EXPECT_NEAR(seconds(kAllReduce, 1e9, across(4, 1, 8)), 67e-6 + std::max(x + 0.0112 * std::sqrt(x), plateau), 1e-12);
}

TEST(Collective, GroupsOfANodeShareItsNics) {
  const double single = seconds(kAllReduce, 1e9, across(4, 2, 1)), shared = seconds(kAllReduce, 1e9, across(4, 2, 4));
  EXPECT_DOUBLE_EQ(single, shared);  // two GPUs drive two of eight NICs, which is their share anyway
  NodeLinks two_nics = dgx_a100();
  two_nics.nics = 2;
  EXPECT_GT(seconds(kAllReduce, 1e9, across(4, 2, 4), two_nics),
            3 * seconds(kAllReduce, 1e9, across(4, 2, 1), two_nics));
}

TEST(Collective, RatesFollowTheLinksOfTheCluster) {
  NodeLinks half = dgx_a100();
  half.nic = 0.5 * half.nic;
  half.nvlink_per_gpu = 0.5 * half.nvlink_per_gpu;
  EXPECT_NEAR(seconds(kAllReduce, 64e9, across(4, 8), half) / seconds(kAllReduce, 64e9, across(4, 8)), 2, 0.05);
  EXPECT_NEAR(seconds(kAllReduce, 64e9, in_node(8), half) / seconds(kAllReduce, 64e9, in_node(8)), 2, 0.05);
}

TEST(Collective, OversubscribedFabricIsSlowerInProportion) {
  NodeLinks thin = dgx_a100();
  thin.oversubscription = 4;
  EXPECT_NEAR(seconds(kAllReduce, 64e9, across(4, 8), thin) / seconds(kAllReduce, 64e9, across(4, 8)), 4, 0.2);
}

TEST(Collective, WithoutNvlinkItRunsOverPcie) {
  const double x = 7.0 / 8 * 1e9 / (25e9 * 32 / 64);  // curves measured on 64 GB/s; the box has 32
  EXPECT_NEAR(seconds(kAllGather, 1e9, in_node(8), pcie_box()), 26e-6 + x, 1e-12);
}

TEST(Collective, TwoNodeTreesSaveNetworkTrafficUpToTheirBound) {
  Profile trees = example_a100_profile();
  trees.network.curves.front().two_node_gain = 2;
  NodeLinks slow = dgx_a100();
  slow.nic = gigabytes_per_second(1);                                   // the NICs, not NVLink, are the limit
  const double V = 2 * 15.0 / 16 * 8e9, x = V / (8e9 * 2 * 15.0 / 16);  // 16 ranks: at most 1.875
  const double time = collective_time({kAllReduce, Bytes(8e9), across(2, 8)}, slow, trees).value();
  const double plateau = V / (0.95 * 8e9 * 2 * 15.0 / 16);
  EXPECT_NEAR(time, 57e-6 + std::max(x + 0.0112 * std::sqrt(x), plateau), 1e-9);
}

TEST(Collective, AllToAllCrossesTheNetworkWithBytesForOtherNodes) {
  // 2 nodes of 8: each rank sends 8/16 of its 16 GB over 25 GB/s.
  const double x = 8.0 / 25;
  const double time = 0.6 * 57e-6 + std::max(x + 0.0112 * std::sqrt(x), x / 0.95);
  EXPECT_NEAR(seconds(kAllToAll, 16e9, across(2, 8)), time, 1e-9);
}

TEST(Collective, AllReduceIsAboutAReduceScatterAndAnAllGather) {
  for (const GroupShape& group : {in_node(2), in_node(8), across(4, 8), across(16, 1, 8)})
    for (const double bytes : {64e6, 1e9, 16e9}) {
      const double both = seconds(kReduceScatter, bytes, group) + seconds(kAllGather, bytes, group);
      EXPECT_NEAR(seconds(kAllReduce, bytes, group) / both, 1, 0.15);
    }
}

SizeCorrection factor(double ratio) {
  return {.first_log2 = 10, .last_log2 = 40, .log_ratio = {std::log(ratio), std::log(ratio)}};
}

TEST(Collective, MeasuredNumbersOfNodesReplaceTheLaw) {
  Profile measured = example_a100_profile();
  measured.network.curves.front().measured = {{.nodes = 4, .ranks_per_node = 8, .correction = factor(1.5)},
                                              {.nodes = 16, .ranks_per_node = 8, .correction = factor(2)}};
  const auto law = [&](int nodes, int local = 8) { return seconds(kAllReduce, 1e9, across(nodes, local)); };
  const auto with = [&](int nodes, int local = 8) {
    return collective_time({kAllReduce, Bytes(1e9), across(nodes, local)}, dgx_a100(), measured).value();
  };
  EXPECT_NEAR(with(4), 1.5 * law(4), 1e-12);
  EXPECT_NEAR(with(16), 2 * law(16), 1e-12);
  EXPECT_NEAR(with(8), 0.5 * (1.5 * law(4) + 2 * law(16)), 1e-12);  // half way in log2(nodes)
  EXPECT_NEAR(with(64), 2 * law(16) + law(64) - law(16), 1e-12);    // the law's growth is added
  EXPECT_DOUBLE_EQ(with(2), law(2));                                // fewer nodes: the law
  EXPECT_DOUBLE_EQ(with(4, 4), law(4, 4));                          // another number of ranks per node: the law
}

TEST(Collective, BetweenMeasuredGroupSizesByStepsAndShares) {
  // Four and eight ranks are measured. Six lie half way in steps, and at 2/3 in the share of a rank's peers.
  const double V = 2 * 5.0 / 6 * 1e9, four = V / 233e9, eight = V / 229e9;
  const double sending = four + 4.3e-3 * std::sqrt(four), more = eight + 4.3e-3 * std::sqrt(eight);
  EXPECT_NEAR(seconds(kAllReduce, 1e9, in_node(6)), 16.5e-6 + sending + 2.0 / 3 * (more - sending), 1e-10);
}

TEST(Collective, CurvesMeasuredOnASystemReplaceTheProfiles) {
  MeasuredCollectives system{.name = "twice as slow"};
  CollectiveCurve curve{.kind = kAllReduce,
                        .ranks = 8,
                        .latency = microseconds(40),
                        .bandwidth = gigabytes_per_second(100),
                        .plateau = gigabytes_per_second(100)};
  system.nvlink = InsideNodeLaw{gigabytes_per_second(300), {curve}};
  curve.ranks = 3;
  system.nvlink->curves.push_back(curve);
  system.network_message = PointToPointLaw::Path{.latency = microseconds(7), .efficiency = 0.5};
  const Profile both = with_measured(example_a100_profile(), system);
  const auto time = [&](CollectiveKind kind, int ranks) {
    return collective_time({kind, Bytes(1e9), in_node(ranks)}, dgx_a100(), both).value();
  };
  EXPECT_NEAR(time(kAllReduce, 8), 40e-6 + 2 * 7.0 / 8 / 100, 1e-12);
  EXPECT_NEAR(time(kAllReduce, 3), 40e-6 + 2 * 2.0 / 3 / 100, 1e-12);
  EXPECT_EQ(time(kAllReduce, 4), seconds(kAllReduce, 1e9, in_node(4)));  // the profile's own curve
  EXPECT_EQ(time(kAllGather, 8), seconds(kAllGather, 1e9, in_node(8)));
  EXPECT_NEAR(point_to_point_time({Bytes(1e9), true, 1}, dgx_a100(), both).value(), 7e-6 + 1 / 12.5, 1e-9);
}

TEST(Collective, CurvesMeasuredOnTheMachineItselfStay) {
  MeasuredCollectives system{.name = "another machine"};
  system.nvlink = InsideNodeLaw{gigabytes_per_second(300), {}};
  for (const int ranks : {4, 8})
    system.nvlink->curves.push_back({.kind = kAllReduce,
                                     .ranks = ranks,
                                     .latency = microseconds(40),
                                     .bandwidth = gigabytes_per_second(100),
                                     .plateau = gigabytes_per_second(100)});
  Profile own = example_a100_profile();
  for (CollectiveCurve& curve : own.nvlink.curves)
    if (curve.kind == kAllReduce && curve.ranks == 8) curve.evidence.provenance = Provenance::kMeasured;
  const Profile both = with_measured(own, system);
  const auto time = [&](int ranks) {
    return collective_time({kAllReduce, Bytes(1e9), in_node(ranks)}, dgx_a100(), both).value();
  };
  EXPECT_EQ(time(8), seconds(kAllReduce, 1e9, in_node(8)));
  EXPECT_NEAR(time(4), 40e-6 + 2 * 3.0 / 4 / 100, 1e-12);
}

GroupShape any_group() {
  const int nodes = *rc::gen::element(1, 1, 2, 4, 64), local = *rc::gen::inRange(1, 9);
  return across(nodes, local, *rc::gen::element(1, 2, 8));
}

TEST(Collective, PositiveAndNeverFasterWithMorePayload) {
  EXPECT_TRUE(rc::check([] {
    const CollectiveKind kind = *rc::gen::elementOf(std::vector<CollectiveKind>(std::begin(kKinds), std::end(kKinds)));
    const GroupShape group = any_group();
    RC_PRE(group.ranks > 1);
    const double bytes = *rc::gen::inRange(0, 1 << 30), more = *rc::gen::inRange(0, 1 << 30);
    RC_ASSERT(seconds(kind, bytes, group) > 0);
    RC_ASSERT(seconds(kind, bytes + more, group) >= seconds(kind, bytes, group));
  }));
}

TEST(Collective, SmallAllReducesAreNotFasterWithMoreRanks) {
  EXPECT_TRUE(rc::check([] {
    const int ranks = *rc::gen::inRange(2, 200), more = *rc::gen::inRange(0, 100);
    RC_ASSERT(seconds(kAllReduce, 1024, in_node(ranks + more)) >= seconds(kAllReduce, 1024, in_node(ranks)));
    const int nodes = *rc::gen::inRange(2, 100);
    RC_ASSERT(seconds(kAllReduce, 1024, across(nodes + more, 8)) >= seconds(kAllReduce, 1024, across(nodes, 8)));
  }));
}

TEST(Collective, NeverBeatsTheLineRate) {
  EXPECT_TRUE(rc::check([] {
    const GroupShape group = any_group();
    RC_PRE(group.ranks > 1);
    const double bytes = *rc::gen::inRange(1, 1 << 30), n = group.ranks;
    const double line = group.nodes > 1 && group.ranks_per_node == 1 ? 25e9 : 300e9;
    RC_ASSERT(seconds(kAllReduce, bytes, group) > 2 * (n - 1) / n * bytes / line);
  }));
}

}  // namespace
}  // namespace foretoken::cost

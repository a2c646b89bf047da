// Tests the links of a job's groups inside a node: the groups that have NVLink, its rate, and the sharing of PCIe.
#include "sim/net/cables.h"

#include <gtest/gtest.h>

namespace foretoken::net {
namespace {

Cluster node(const char* fabric, int gpus, std::vector<NvlinkCables> cables = {}) {
  Cluster c;
  c.gpus_per_node = gpus;
  c.nvlink_fabric = fabric;
  c.links = {.nvlink_per_gpu = gigabytes_per_second(300),
             .pcie_per_gpu = gigabytes_per_second(31),
             .nic = gigabytes_per_second(25),
             .nics = 1,
             .gpus = gpus,
             .oversubscription = 1,
             .hop_latency = Seconds(0)};
  c.wiring.cables = std::move(cables);
  return c;
}

struct Job {
  int tensor = 1, data = 1, pipeline = 1;
  [[nodiscard]] RankGroups groups(AxisSet axes) const {
    return RankGrid(PerAxis<int>(1, {{Axis::kTensor, tensor}, {Axis::kData, data}, {Axis::kPipeline, pipeline}}))
        .groups(axes);
  }
};

double tensor_rate(const Cluster& c, Job d) {
  return collective_links(c, d.groups(Axis::kTensor)).nvlink_per_gpu.value() / 1e9;
}

double gradient_rate(const Cluster& c, Job d) {
  return collective_links(c, d.groups(kReplicaAxes)).nvlink_per_gpu.value() / 1e9;
}

TEST(Cables, BridgedPairsHaveNvlinkAndNoLargerGroupHas) {
  const Cluster stated = node("bridge", 4, {{0, 1, 12}, {2, 3, 12}});
  for (const Cluster& pairs : {stated, node("bridge", 4)}) {
    EXPECT_DOUBLE_EQ(tensor_rate(pairs, {.tensor = 2, .data = 2}), 300);
    EXPECT_DOUBLE_EQ(gradient_rate(pairs, {.tensor = 2, .data = 2}), 0) << "GPUs 0 and 2";
    EXPECT_DOUBLE_EQ(tensor_rate(pairs, {.tensor = 4}), 0);
    EXPECT_TRUE(lacks_cables(pairs, Job{.tensor = 4}.groups(Axis::kTensor)));
    EXPECT_DOUBLE_EQ(tensor_rate(pairs, {.tensor = 4, .data = 8}), 0) << "on several nodes";
  }
  const Cluster crossed = node("bridge", 4, {{0, 2, 12}, {1, 3, 12}});
  EXPECT_DOUBLE_EQ(tensor_rate(crossed, {.tensor = 2, .data = 2}), 0);
  EXPECT_DOUBLE_EQ(gradient_rate(crossed, {.tensor = 2, .data = 2}), 300);
}

// The rate of gradients' groups on two sockets of four GPUs.
double over_sockets(Job d, std::vector<PcieTree> sockets) {
  Cluster c = node("none", 8);
  c.links.nvlink_per_gpu = {};
  c.wiring.sockets = std::move(sockets);
  return collective_links(c, d.groups(kReplicaAxes)).pcie_share().value() / 1e9;
}

TEST(Cables, GroupsShareTheLinksOfAPcieTree) {
  const std::vector<PcieTree> two{{.gpus = {0, 1, 2, 3}, .nics = {0}, .switches = {}},
                                  {.gpus = {4, 5, 6, 7}, .nics = {}, .switches = {}}};
  EXPECT_DOUBLE_EQ(over_sockets({.data = 8}, two), 31) << "one ring";
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 2, .data = 4}, two), 31.0 / 2);
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 4, .data = 2}, two), 31.0 / 4);
  EXPECT_DOUBLE_EQ(over_sockets({.data = 4, .pipeline = 2}, two), 31) << "a socket each";
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 2, .data = 8}, two), 31.0 / 2) << "on two nodes as on one";
  const PcieTree left{.gpus = {0, 1}, .nics = {}, .switches = {}}, right{.gpus = {2, 3}, .nics = {}, .switches = {}};
  const std::vector<PcieTree> switches{{.gpus = {4, 5, 6, 7}, .nics = {0}, .switches = {left, right}}};
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 2, .data = 4}, switches), 31.0 / 2) << "both groups leave each switch";
  EXPECT_DOUBLE_EQ(over_sockets({.data = 2, .pipeline = 4}, switches), 31) << "neighbours are below one switch";
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 2, .data = 4}, {}), 31) << "one NIC: one switch";
}

TEST(Cables, MessagesShareTheLinksOfAPcieTree) {
  Cluster c = node("none", 8);
  c.links.nvlink_per_gpu = {};
  c.wiring.sockets = {{.gpus = {0, 1, 2, 3}, .nics = {0}, .switches = {}},
                      {.gpus = {4, 5, 6, 7}, .nics = {}, .switches = {}}};
  const RankGroups halves = Job{.tensor = 2, .data = 2, .pipeline = 2}.groups(Axis::kPipeline);
  EXPECT_DOUBLE_EQ(message_links(c, halves).pcie_share().value() / 1e9, 31.0 / 4) << "four ranks send at once";
  const RankGroups single = Job{.pipeline = 8}.groups(Axis::kPipeline);
  EXPECT_DOUBLE_EQ(message_links(c, single).pcie_share().value() / 1e9, 31);
  c.links = c.links.unshared();
  EXPECT_DOUBLE_EQ(message_links(c, halves).pcie_share().value() / 1e9, 31);
}

TEST(Cables, GroupsWithNvlinkAreNotOnPcie) {
  Cluster c = node("bridge", 4, {{0, 2, 12}});
  c.wiring.sockets = {{.gpus = {0, 1}, .nics = {0}, .switches = {}}, {.gpus = {2, 3}, .nics = {}, .switches = {}}};
  EXPECT_DOUBLE_EQ(collective_links(c, Job{.tensor = 2, .data = 2}.groups(kReplicaAxes)).pcie_share().value() / 1e9, 31)
      << "GPUs 0 and 2 have a bridge, and 1 and 3 the link between the sockets";
}

TEST(Cables, FourSocketsAreARing) {
  const auto socket = [](int first) { return PcieTree{.gpus = {first, first + 1}, .nics = {}, .switches = {}}; };
  const std::vector<PcieTree> four{socket(0), socket(2), socket(4), socket(6)};
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 2, .data = 4}, four), 31.0 / 2);
  EXPECT_DOUBLE_EQ(over_sockets({.tensor = 4, .data = 2}, four), 31.0 / 2) << "sockets 0 and 2, 1 and 3";
}

TEST(Cables, AMeshOfFourGivesAPairAThirdOfItsCables) {  // as in a Perlmutter node
  const Cluster mesh = node("mesh", 4, {{0, 1, 4}, {0, 2, 4}, {0, 3, 4}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}});
  EXPECT_DOUBLE_EQ(tensor_rate(mesh, {.tensor = 4}), 300);
  EXPECT_DOUBLE_EQ(tensor_rate(mesh, {.tensor = 2, .data = 2}), 100);
  const Job stages{.pipeline = 4};
  EXPECT_DOUBLE_EQ(message_links(mesh, stages.groups(Axis::kPipeline)).nvlink_per_gpu.value(), 100e9);
}

TEST(Cables, ACubeMeshHasRingsOfEightAndOfItsQuads) {
  const Cluster cube = node("hybrid-cube-mesh", 8);
  EXPECT_DOUBLE_EQ(tensor_rate(cube, {.tensor = 8}), 300);
  EXPECT_DOUBLE_EQ(tensor_rate(cube, {.tensor = 4, .data = 2}), 200) << "four of six cables stay in a quad";
  EXPECT_DOUBLE_EQ(gradient_rate(cube, {.tensor = 4, .data = 2}), 50) << "GPUs 2 and 6: one cable";
}

TEST(Cables, CopiesNeedACableBetweenEveryTwoRanks) {
  const auto rate = [](const Cluster& c, Job d) {
    return pair_links(c, d.groups(Axis::kTensor)).nvlink_per_gpu.value() / 1e9;
  };
  EXPECT_DOUBLE_EQ(rate(node("nvswitch", 8), {.tensor = 8}), 300);
  const Cluster cube = node("hybrid-cube-mesh", 8);
  EXPECT_DOUBLE_EQ(rate(cube, {.tensor = 4, .data = 2}), 50) << "every two of a quad have a cable, some two";
  EXPECT_DOUBLE_EQ(rate(cube, {.tensor = 8}), 0) << "GPUs 0 and 5 have none, although the eight form a ring";
  EXPECT_DOUBLE_EQ(rate(node("bridge", 4), {.tensor = 2, .data = 2}), 300);
  EXPECT_DOUBLE_EQ(rate(node("bridge", 4), {.tensor = 4}), 0);
}

TEST(Cables, AChainIsNoRing) {
  EXPECT_DOUBLE_EQ(tensor_rate(node("mesh", 4, {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}}), {.tensor = 4}), 0);
  EXPECT_DOUBLE_EQ(tensor_rate(node("mesh", 4, {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {0, 3, 4}}), {.tensor = 4}), 300);
}

TEST(Cables, ManyGpusNeedHalfOfThePeers) {
  std::vector<NvlinkCables> all, pairs;
  for (int a = 0; a < 10; ++a)
    for (int b = a + 1; b < 10; ++b) (b == a + 5 ? pairs : all).push_back({a, b, 1});
  EXPECT_DOUBLE_EQ(tensor_rate(node("mesh", 10, all), {.tensor = 10}), 300);
  EXPECT_DOUBLE_EQ(tensor_rate(node("mesh", 10, pairs), {.tensor = 10}), 0);
}

TEST(Cables, ASwitchJoinsEveryGroupAndLoneRanksNeedNone) {
  EXPECT_DOUBLE_EQ(tensor_rate(node("nvswitch", 8), {.tensor = 8}), 300);
  EXPECT_DOUBLE_EQ(gradient_rate(node("bridge", 4), {.tensor = 4, .data = 8}), 300) << "one rank a node";
  EXPECT_FALSE(lacks_cables(node("none", 8), Job{.tensor = 3, .data = 3}.groups(Axis::kTensor)));
}

}  // namespace
}  // namespace foretoken::net

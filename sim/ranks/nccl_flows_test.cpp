// Checks flows of single collectives on small clusters, as worked out by hand.
#include "sim/ranks/nccl_flows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/cost/collectives/nccl_law.h"
#include "sim/des/engine.h"

namespace foretoken::ranks {
namespace {

using cost::NcclAlgorithm;
using cost::NcclArchitecture;
using cost::NcclProtocol;

// Returns latencies of zero, with every algorithm enabled.
cost::NcclTuning tuning_of_zeros() {
  cost::NcclTuning tuning;
  for (const auto one : {NcclAlgorithm::kTree, NcclAlgorithm::kRing, NcclAlgorithm::kNvls, NcclAlgorithm::kNvlsTree})
    for (auto* table : {&tuning.base, &tuning.nvlink_hop, &tuning.pci_hop, &tuning.network_hop}) (*table)[one] = {};
  tuning.nvlink_per_link = tuning.nvlink_reached = {20, 20, 20.6, 40.1};
  tuning.network_overhead_floor = false;
  tuning.nvls_model = 'B';
  return tuning;
}

// Returns the first GPUs of a fabric.
std::vector<net::FabricGpu> first_gpus_of(int count) {
  std::vector<net::FabricGpu> gpus;
  for (const net::FabricGpu gpu : ids<net::FabricGpu>(count)) gpus.push_back(gpu);
  return gpus;
}

// Returns a cluster with round rates after the architecture's shares: 100 GB/s of NVLink, 20 of PCIe and NICs.
net::Cluster cluster_of(NcclArchitecture architecture) {
  const LinkShares shares = NcclLowering::shares_of(architecture, tuning_of_zeros());
  net::Cluster cluster;
  cluster.gpus_per_node = 4;
  cluster.nvlink_fabric = "nvswitch";
  cluster.fabric_kind = "fat-tree";
  cluster.rail_optimized = true;
  cluster.links = {.nvlink_per_gpu = gigabytes_per_second(100 / shares.nvlink),
                   .pcie_per_gpu = gigabytes_per_second(20 / shares.pcie),
                   .nic = gigabytes_per_second(20),
                   .nics = 4,
                   .gpus = 4,
                   .oversubscription = 1,
                   .hop_latency = {}};
  return cluster;
}

Nccl nccl_of(NcclArchitecture architecture, NcclAlgorithm algorithm, NcclProtocol protocol = NcclProtocol::kSimple) {
  return {.architecture = architecture, .tuning = tuning_of_zeros(), .settings = {algorithm, protocol}};
}

cost::NcclWire wire_of(NcclArchitecture architecture) { return cost::nccl_wire(architecture, tuning_of_zeros()); }

// Returns seconds without the filling of pipelines, which grows with the square root of `volume`.
double bare(Seconds time, double fill, double volume) { return time.value() - fill * std::sqrt(volume); }

constexpr double kPayload = 8e9;

struct Case {
  const char* name;
  NcclArchitecture architecture;
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  CollectiveKind kind;
  int nodes;
  double volume, expected;  ///< bytes that a ring's rank sends; seconds
};

TEST(NcclFlows, TakeWhatTheirBusiestLinkTakes) {
  constexpr auto kAllReduce = CollectiveKind::kAllReduce, kGather = CollectiveKind::kAllGather;
  constexpr auto kRing = NcclAlgorithm::kRing;
  constexpr auto kHopper = NcclArchitecture::kHopper, kAmpere = NcclArchitecture::kAmpere;
  const double own = cost::nccl_fitted(kAmpere).own_copy, multicast = wire_of(kHopper).multicast;
  for (const Case& c : {
           Case{"a ring in a node: six rounds of two GB, and the last copied", kAmpere, kRing, NcclProtocol::kSimple,
                kAllReduce, 1, 12e9, 0.12 * (1 + own / 6)},
           Case{"LL puts as many flags on the wire", kAmpere, kRing, NcclProtocol::kLl, kAllReduce, 1, 12e9,
                0.24 * (1 + own / 6)},
           Case{"a gather is half of it", kAmpere, kRing, NcclProtocol::kSimple, kGather, 1, 6e9, 0.06 * (1 + own / 3)},
           Case{"rings over three nodes: 11/12 of the payload twice, over four NICs", kAmpere, kRing,
                NcclProtocol::kSimple, kAllReduce, 3, 2 * 11 / 12.0 * 8e9, 2 * 11 / 12.0 * 8e9 / 80e9},
           // Chains of four: three hops up and three down, a quarter of the payload on each of four channels.
           Case{"trees over two nodes: the chains take longer than the NICs", kAmpere, NcclAlgorithm::kTree,
                NcclProtocol::kSimple, kAllReduce, 2, 14e9, 6 * 8e9 / 4 / 100e9},
           // The inner node sends to its parent and two children in one tree, and to its parent in the other.
           Case{"trees over four nodes", kAmpere, NcclAlgorithm::kTree, NcclProtocol::kSimple, kAllReduce, 4, 15e9,
                4 * 8e9 / 8 / 20e9},
           Case{"in the switch every GPU sends all it has, and its own share once more", kHopper, NcclAlgorithm::kNvls,
                NcclProtocol::kSimple, kAllReduce, 1, 12e9, 8e9 * (1 + 1 / 4.0) / (100e9 * multicast)},
           Case{"and between nodes trees of heads", kHopper, NcclAlgorithm::kNvlsTree, NcclProtocol::kSimple,
                kAllReduce, 4, 15e9, 4 * 8e9 / 8 / 20e9},
       }) {
    SCOPED_TRACE(c.name);
    const cost::NcclFitted wire = cost::nccl_fitted(c.architecture);
    const Seconds time = nccl_flow_time(c.kind, Bytes(kPayload), 4, c.nodes, cluster_of(c.architecture),
                                        nccl_of(c.architecture, c.algorithm, c.protocol));
    EXPECT_NEAR(bare(time, c.nodes == 1 ? wire.fill_inside : wire.fill_between, c.volume), c.expected,
                1e-9 * c.expected);
  }
}

TEST(NcclFlows, AnAllToAllSendsToEveryPeerAtOnce) {
  const cost::NcclFitted wire = cost::nccl_fitted(NcclArchitecture::kAmpere);
  const Nccl nccl = nccl_of(NcclArchitecture::kAmpere, NcclAlgorithm::kRing);
  const net::Cluster cluster = cluster_of(NcclArchitecture::kAmpere);
  const Seconds inside = nccl_flow_time(CollectiveKind::kAllToAll, Bytes(kPayload), 4, 1, cluster, nccl);
  EXPECT_NEAR(bare(inside, wire.fill_inside, 6e9), 6e9 / 100e9 * (1 + wire.own_copy / 3), 1e-12);
  // Two nodes: half of it leaves through the GPU's NIC.
  const Seconds across = nccl_flow_time(CollectiveKind::kAllToAll, Bytes(kPayload), 4, 2, cluster, nccl);
  EXPECT_NEAR(bare(across, wire.fill_between, 7e9), 4e9 / 20e9 * (1 + wire.own_copy / 7), 1e-12);
}

TEST(NcclFlows, AMessageBetweenNodesHasItsChannelsAlone) {
  constexpr auto kBlackwell = NcclArchitecture::kBlackwell;
  const cost::NcclFitted fitted = cost::nccl_fitted(kBlackwell);
  const double each = wire_of(kBlackwell).message_channel.value();
  Nccl nccl = nccl_of(kBlackwell, NcclAlgorithm::kRing);
  const net::Cluster cluster = cluster_of(kBlackwell);
  const auto across = [&](int nodes) {
    return bare(nccl_shift_time(Bytes(2e9), 4, nodes, cluster, nccl), fitted.fill_between, 2e9);
  };
  EXPECT_NEAR(across(2), 2e9 / (2 * each), 1e-12);
  // Four rings of a NIC each, and each twice: eight channels, so that more than sixteen ranks have one for a peer.
  EXPECT_NEAR(across(4), 2e9 / (2 * each), 1e-12);
  EXPECT_NEAR(across(5), 2e9 / each, 1e-12);
  nccl.tuning.message_channel_rate = 14;
  EXPECT_NEAR(across(5), 2e9 / (2 * each), 1e-12) << "20 GB/s want two channels, however many ranks there are";
  nccl.message_channels = 4;
  EXPECT_NEAR(across(2), 2e9 / 20e9, 1e-12) << "four fill the NIC";
  const double inside = bare(nccl_shift_time(Bytes(2e9), 4, 1, cluster, nccl), fitted.fill_inside, 2e9);
  EXPECT_NEAR(inside, 2e9 / 100e9, 1e-12);
}

TEST(NcclFlows, AMessageHopsOverWhatTheNodeHas) {
  Nccl nccl = nccl_of(NcclArchitecture::kAmpere, NcclAlgorithm::kRing);
  nccl.tuning.nvlink_hop[NcclAlgorithm::kRing] = {1, 1, 1};
  nccl.tuning.pci_hop[NcclAlgorithm::kRing] = {5, 5, 5};
  nccl.fitted = cost::NcclFitted{};
  net::Cluster cluster = cluster_of(NcclArchitecture::kAmpere);
  EXPECT_NEAR(nccl_shift_time(Bytes(1), 4, 1, cluster, nccl).value(), 1e-6, 1e-9);
  cluster.nvlink_fabric = "none";
  cluster.links.nvlink_per_gpu = {};
  EXPECT_NEAR(nccl_shift_time(Bytes(1), 4, 1, cluster, nccl).value(), 5e-6, 1e-9);
}

// On Hopper NCCL uses the switch where working links join all GPUs to one, and nowhere else.
TEST(NcclFlows, TheSwitchReducesOnlyWhereItIs) {
  Nccl nccl = nccl_of(NcclArchitecture::kHopper, NcclAlgorithm::kNvls);
  nccl.settings.algorithm.reset();
  net::Cluster cluster = cluster_of(NcclArchitecture::kHopper);
  const auto legs = [&](int nodes, const job::Imperfections& imperfections) {
    des::TaskGraph graph;
    const int gpus = nodes * cluster.links.gpus;
    Wires wires(cluster, gpus, imperfections, NcclLowering::shares_of(nccl.architecture, nccl.tuning), graph);
    NcclLowering lowering(nccl, cluster.links, wires, graph);
    return lowering.collective(CollectiveKind::kAllReduce, Bytes(kPayload), first_gpus_of(gpus)).legs.size();
  };
  EXPECT_EQ(legs(1, {}), 4U) << "a flow for each head";
  job::Imperfections failed;
  failed.slow_links.push_back({"node 0 gpu 1", "node 0 nvswitch 0", 0});
  EXPECT_LT(legs(1, failed), 4U) << "rings or trees, which take another way";
  cluster.nvlink_fabric = "bridge";
  EXPECT_LT(legs(1, {}), 4U);
  cluster.nvlink_fabric = "mesh";
  cluster.wiring.cables = {{0, 1, 6}, {0, 2, 6}, {0, 3, 6}, {1, 2, 6}, {1, 3, 6}, {2, 3, 6}};
  EXPECT_LT(legs(1, {}), 4U);
  cluster = cluster_of(NcclArchitecture::kHopper);
  cluster.gpus_per_node = cluster.links.gpus = cluster.links.nics = 1;
  EXPECT_GE(legs(2, {}), 1U) << "one GPU a node has no one to reduce with";
}

// Two groups on the same eight GPUs of two nodes take twice as long at once: they share all NICs.
TEST(NcclFlows, CollectivesShareLinks) {
  const Nccl nccl = nccl_of(NcclArchitecture::kAmpere, NcclAlgorithm::kRing);
  const net::Cluster cluster = cluster_of(NcclArchitecture::kAmpere);
  const std::vector<net::FabricGpu> gpus = first_gpus_of(8);
  const auto seconds = [&](int groups) {
    des::TaskGraph graph;
    Wires wires(cluster, 8, {}, NcclLowering::shares_of(nccl.architecture, nccl.tuning), graph);
    NcclLowering lowering(nccl, cluster.links, wires, graph);
    for (int i = 0; i < groups; ++i)
      for (const Leg& leg : lowering.collective(CollectiveKind::kAllReduce, Bytes(kPayload), gpus).legs)
        graph.add_flow({}, leg.bytes, leg.route, {});
    return des::to_seconds(des::run(graph).makespan - des::Instant{}).value();
  };
  EXPECT_NEAR(seconds(2), 2 * seconds(1), 1e-9);
}

// The closed form of sim/cost/collectives/nccl_law.h and the flows check each other.
TEST(NcclFlows, AloneTakeTheClosedForm) {
  for (const NcclArchitecture architecture :
       {NcclArchitecture::kAmpere, NcclArchitecture::kHopper, NcclArchitecture::kBlackwell}) {
    net::Cluster cluster = cluster_of(architecture);
    cluster.gpus_per_node = cluster.links.gpus = cluster.links.nics = 8;
    for (const auto algorithm : {NcclAlgorithm::kRing, NcclAlgorithm::kTree, NcclAlgorithm::kNvls})
      for (const int nodes : {1, 2, 3, 4, 7, 8})
        for (const int local : {1, 2, 4, 8}) {
          const bool in_switch = algorithm == NcclAlgorithm::kNvls;
          if (nodes * local < 2 || (in_switch && (architecture == NcclArchitecture::kAmpere || local < 4))) continue;
          const auto named = in_switch && nodes > 1 ? NcclAlgorithm::kNvlsTree : algorithm;
          Nccl nccl = nccl_of(architecture, named);
          const cost::NcclSystem system{architecture, nccl.tuning};
          const GroupShape group{.ranks = nodes * local, .nodes = nodes, .ranks_per_node = local};
          const CollectiveShape shape{CollectiveKind::kAllReduce, Bytes(kPayload), group};
          SCOPED_TRACE(testing::Message() << name_of(named) << " " << nodes << " x " << local);
          const double flows = nccl_flow_time(shape.kind, shape.payload, local, nodes, cluster, nccl).value();
          EXPECT_NEAR(flows, cost::nccl_time(shape, cluster.links, system, nccl.settings).value(), 1e-6 * flows);
        }
  }
}

}  // namespace
}  // namespace foretoken::ranks

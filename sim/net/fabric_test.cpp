// Graphs of nodes and networks, routes on them, and links that never matter.
#include "sim/net/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "sim/base/error.h"
#include "sim/net/router.h"

namespace foretoken::net {
namespace {

Cluster cluster(const char* nvlink, int nics, double nic_rate = 25) {
  Cluster c;
  c.gpus_per_node = 8;
  c.nvlink_fabric = nvlink;
  c.links = {.nvlink_per_gpu = gigabytes_per_second(std::string(nvlink) == "none" ? 0 : 300),
             .pcie_per_gpu = gigabytes_per_second(31),
             .nic = gigabytes_per_second(nic_rate),
             .nics = nics,
             .gpus = 8,
             .oversubscription = 1,
             .hop_latency = microseconds(0.5)};
  c.fabric_kind = "fat-tree";
  c.rail_optimized = true;
  c.switch_radix = 8;
  return c;
}

// Where each link of the whole fabric leads.
struct Ends {
  DeviceId from, to;
};
std::map<std::uint32_t, Ends> ends_of(const Fabric& fabric, Graph& graph) {
  fabric.copy_whole(graph);
  std::map<std::uint32_t, Ends> ends;
  for_each_edge(graph, [&](auto edge) {
    ends[graph[edge].id] = {boost::source(edge, graph), boost::target(edge, graph)};
  });
  return ends;
}

struct Named {
  const char* name;
  Cluster cluster;
  int nodes;
};

std::vector<Named> fabrics() {
  std::vector<Named> all = {{"one NVSwitch node", cluster("nvswitch", 8), 1},
                            {"rails, two layers", cluster("nvswitch", 8), 9},
                            {"four NICs for eight GPUs", cluster("nvswitch", 4), 6},
                            {"four NICs a GPU", cluster("nvswitch", 32, 12.5), 3},
                            {"cube mesh", cluster("hybrid-cube-mesh", 4, 12.5), 5},
                            {"PCIe only", cluster("none", 2), 3},
                            {"bridged pairs", cluster("bridge", 1), 4}};
  Named classic{"classic fat tree of three layers, ECMP", cluster("nvswitch", 8), 20};
  classic.cluster.rail_optimized = false;
  classic.cluster.adaptive_routing = false;
  classic.cluster.links.oversubscription = 2;
  all.push_back(classic);
  Named dragonfly{"dragonfly", cluster("nvswitch", 8), 12};
  dragonfly.cluster.fabric_kind = "dragonfly";
  all.push_back(dragonfly);
  Named single{"single switch", cluster("nvswitch", 8), 7};
  single.cluster.fabric_kind = "single-switch";
  all.push_back(single);
  return all;
}

TEST(Fabric, EveryLinkHasItsIdAndARate) {
  for (const Named& named : fabrics()) {
    SCOPED_TRACE(named.name);
    const Fabric fabric(named.cluster, named.nodes);
    Graph graph;
    const auto ends = ends_of(fabric, graph);
    ASSERT_EQ(ends.size(), fabric.links().size()) << "every id once";
    for (std::uint32_t id = 0; id < fabric.links().size(); ++id) {
      EXPECT_EQ(fabric.links()[id].id, id);
      EXPECT_GT(fabric.links()[id].capacity.value(), 0);
    }
  }
}

TEST(Fabric, RoutesAreUnbrokenAndEndWhereTheyShould) {
  for (const Named& named : fabrics()) {
    SCOPED_TRACE(named.name);
    const Fabric fabric(named.cluster, named.nodes);
    Graph graph;
    const auto ends = ends_of(fabric, graph);
    Router router(fabric);
    const auto devices = boost::num_vertices(fabric.node().graph);
    const auto vertex = [&](int gpu) {
      return static_cast<DeviceId>(gpu / 8) * devices + static_cast<DeviceId>(gpu % 8);
    };
    for (int from = 0; from < 8 * named.nodes; from += 3)
      for (int to = 0; to < 8 * named.nodes; to += 5) {
        if (from == to) continue;
        const Route route = router.route(from, to, router.nearest_nic(from), 7);
        DeviceId at = vertex(from);
        std::set<DeviceId> seen{at};
        for (const std::uint32_t link : route.links) {
          ASSERT_EQ(ends.at(link).from, at);
          at = ends.at(link).to;
          EXPECT_TRUE(seen.insert(at).second) << "no device twice";
        }
        EXPECT_EQ(at, vertex(to));
      }
  }
}

TEST(Fabric, RailsKeepTrafficOfOneNicNumberUnderOneLeaf) {
  const Fabric fabric(cluster("nvswitch", 8), 4);  // radix 8: four ports down
  Router router(fabric);
  for (int gpu = 0; gpu < 8; ++gpu) {
    EXPECT_EQ(router.nearest_nic(gpu), gpu);
    const Route route = router.route(gpu, gpu + 24, gpu);
    EXPECT_EQ(route.links.size(), 6U) << "PCIe, PCIe, NIC out, NIC in, PCIe, PCIe";
    EXPECT_DOUBLE_EQ(route.latency.value(), 1e-6) << "one switch: two cables";
  }
  const Fabric larger(cluster("nvswitch", 8), 5);
  EXPECT_EQ(Router(larger).route(0, 32, 0).links.size(), 10U)
      << "the fifth node hangs on another leaf of its rail, in another pod: over spine, core and spine";
}

TEST(Fabric, CubeMeshHasSixCablesAGpuAndNoDirectLinkToSome) {
  const Fabric fabric(cluster("hybrid-cube-mesh", 4, 12.5), 1);
  std::vector<double> leaving(8, 0);
  for_each_edge(fabric.node().graph, [&](auto edge) {
    if (fabric.node().graph[edge].kind == LinkKind::kNvlink)
      leaving[boost::source(edge, fabric.node().graph)] += fabric.node().graph[edge].capacity.value();
  });
  for (const double rate : leaving) EXPECT_DOUBLE_EQ(rate, 300e9);
  Router router(fabric);
  EXPECT_EQ(router.route(0, 4, 0).links.size(), 1U);
  EXPECT_EQ(router.route(0, 5, 0).links.size(), 2U) << "over a neighbour, not over PCIe";
}

TEST(Fabric, OversubscriptionAndEcmpShowInTheUplinks) {
  Cluster thin = cluster("nvswitch", 8);
  thin.rail_optimized = false;
  thin.switch_radix = 12;
  thin.links.oversubscription = 2;  // 8 ports down, 4 up
  const Fabric adaptive(thin, 3);
  EXPECT_EQ(adaptive.shape().spines, 1);
  double up = 0;
  for_each_edge(adaptive.switches(), [&](auto edge) {
    if (boost::source(edge, adaptive.switches()) == 0) up += adaptive.switches()[edge].capacity.value();
  });
  EXPECT_DOUBLE_EQ(up, 100e9);
  thin.adaptive_routing = false;
  const Fabric hashed(thin, 3);
  EXPECT_EQ(hashed.shape().spines, 4);
  Router router(hashed);
  std::set<std::vector<std::uint32_t>> ways;
  for (std::uint64_t flow = 0; flow < 64; ++flow) ways.insert(router.route(0, 8, 0, flow).links);
  EXPECT_EQ(ways.size(), 4U) << "flows of one pair spread over all spines";
  EXPECT_EQ(router.route(0, 8, 0, 5).links, router.route(0, 8, 0, 5).links);
}

TEST(Fabric, RoutesPassByWhatHasFailed) {
  Cluster hashed = cluster("nvswitch", 8);
  hashed.rail_optimized = false;
  hashed.switch_radix = 12;
  hashed.links.oversubscription = 2;  // 8 ports down, 4 up
  hashed.adaptive_routing = false;
  const Fabric fabric(hashed, 3);
  std::vector<bool> failed(fabric.links().size(), false);
  for (const std::uint32_t link : links_between(fabric, "leaf 1", "spine 2")) failed[link] = true;
  ASSERT_EQ(std::count(failed.begin(), failed.end(), true), 2);
  Router router(fabric, failed);
  std::set<std::vector<std::uint32_t>> ways;
  for (std::uint64_t flow = 0; flow < 64; ++flow) ways.insert(router.route(0, 8, 0, flow).links);
  EXPECT_EQ(ways.size(), 3U) << "three spines are left";
  for (const bool out : {true, false}) failed[fabric.nic_link(1, 0, out)] = true;
  Router lame(fabric, failed);
  EXPECT_EQ(lame.nearest_nic(8), 1);
  EXPECT_EQ(lame.nics_near(8), 1);
  EXPECT_EQ(lame.route(0, 8, 0).links, Router(fabric, failed).route(0, 8, 0).links);
  EXPECT_EQ(lame.route(0, 16, 0).links, Router(fabric).route(0, 16, 0).links) << "others keep their way";
}

TEST(Fabric, WithAnythingFailedARouteIsSoundOrThereIsNone) {
  std::mt19937 random(1);
  for (const auto& [name, c, nodes] : fabrics()) {
    SCOPED_TRACE(name);
    const Fabric fabric(c, nodes);
    Graph graph;
    const auto ends = ends_of(fabric, graph);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<bool> failed(fabric.links().size(), false);
      std::set<std::pair<DeviceId, DeviceId>> cut;
      for (const auto& [link, at] : ends)
        if (random() % 8 == 0) cut.insert(std::minmax(at.from, at.to));
      for (const auto& [link, at] : ends) failed[link] = cut.contains(std::minmax(at.from, at.to));
      Router router(fabric, failed);
      const int last = fabric.nodes() * fabric.node().gpus - 1;
      try {
        const Route route = router.route(0, last, fabric.nodes() > 1 ? router.nearest_nic(0) : 0);
        for (std::size_t i = 0; i < route.links.size(); ++i) {
          EXPECT_FALSE(failed[route.links[i]]);
          EXPECT_EQ(ends.at(route.links[i]).from, i == 0 ? 0 : ends.at(route.links[i - 1]).to);
        }
      } catch (const ConfigError& error) {
        EXPECT_EQ(error.complaints().size(), 1U);
      }
    }
  }
}

TEST(Fabric, LinksOfAFullTreeAreNoBottlenecksAndThoseOfAThinOneAre) {
  const auto uplinks = [](double oversubscription) {
    Cluster c = cluster("nvswitch", 8);
    c.rail_optimized = false;
    c.switch_radix = oversubscription > 1 ? 12 : 16;
    c.links.oversubscription = oversubscription;
    const Fabric fabric(c, 3);
    std::vector<double> capacity;
    for (const Link& link : fabric.links()) capacity.push_back(link.capacity.value());
    const std::vector<bool> possible = possible_bottlenecks(fabric, capacity);
    int found = 0;
    for (std::uint32_t id = fabric.network_begin(); id < fabric.links().size(); ++id) found += possible[id] ? 1 : 0;
    for (int nic = 0; nic < 8; ++nic) EXPECT_TRUE(possible[fabric.nic_link(0, nic, true)]);
    return found;
  };
  EXPECT_EQ(uplinks(1), 0);
  EXPECT_EQ(uplinks(2), 6) << "three leaves, up and down";
}

}  // namespace
}  // namespace foretoken::net

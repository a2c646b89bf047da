// Tests graphs of nodes and networks, routes on them, and links that never limit a flow.
#include "sim/net/fabric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include "sim/base/table.h"
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

// The two ends of each link of the whole fabric.
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
  dragonfly.name = "dragonfly, minimal routes";
  dragonfly.cluster.adaptive_routing = false;
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
    const auto vertex = [&](FabricGpu gpu) { return fabric.node_of(gpu).index() * devices + fabric.device_of(gpu); };
    for (int sender = 0; sender < 8 * named.nodes; sender += 3)
      for (int receiver = 0; receiver < 8 * named.nodes; receiver += 5) {
        if (sender == receiver) continue;
        const FabricGpu from = id_of<FabricGpu>(sender), to = id_of<FabricGpu>(receiver);
        const Route route = router.route(from, to, router.nics_near(from).front(), 7).value();
        DeviceId at = vertex(from);
        std::set<DeviceId> visited{at};
        for (const std::uint32_t link : route.links) {
          ASSERT_EQ(ends.at(link).from, at);
          at = ends.at(link).to;
          EXPECT_TRUE(visited.insert(at).second) << "no device twice";
        }
        EXPECT_EQ(at, vertex(to));
      }
  }
}

template <class Number>
concept NearNics = requires(const Router& router, Number gpu) {
  router.nics_near(gpu);
};
static_assert(NearNics<FabricGpu> && !NearNics<foretoken::Gpu> && !NearNics<int>, "a job may have several fabrics");

TEST(Fabric, NumbersItsGpusNodeByNode) {
  const Fabric fabric(cluster("nvswitch", 8), 3);
  FabricGpu next;
  for (const FabricNode node : fabric.all_nodes())
    for (int place = 0; place < 8; ++place, next = next.next()) {
      EXPECT_EQ(fabric.gpu_at(node, place), next);
      EXPECT_EQ(fabric.node_of(next), node);
      EXPECT_EQ(fabric.place_in_node(next), place);
    }
  EXPECT_EQ(next.number(), 24);
}

TEST(Fabric, RailsKeepTrafficOfOneNicNumberUnderOneLeaf) {
  const Fabric fabric(cluster("nvswitch", 8), 4);  // radix 8: four ports down
  Router router(fabric);
  for (const FabricGpu gpu : ids<FabricGpu>(8)) {
    EXPECT_EQ(router.nics_near(gpu), std::vector{gpu.number()});
    const Route route = router.route(gpu, {gpu.value + 24}, gpu.number()).value();
    EXPECT_EQ(route.links.size(), 6U) << "PCIe, PCIe, NIC out, NIC in, PCIe, PCIe";
    EXPECT_DOUBLE_EQ(route.latency.value(), 1e-6) << "one switch: two cables";
  }
  const Fabric larger(cluster("nvswitch", 8), 5);
  EXPECT_EQ(Router(larger).route(FabricGpu{0}, FabricGpu{32}, 0)->links.size(), 10U)
      << "the fifth node hangs on a leaf in another pod: over spine, core and spine";
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
  EXPECT_EQ(router.route(FabricGpu{0}, FabricGpu{4}, 0)->links.size(), 1U);
  EXPECT_EQ(router.route(FabricGpu{0}, FabricGpu{5}, 0)->links.size(), 2U) << "over a neighbour, not over PCIe";
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
  for (std::uint64_t flow = 0; flow < 64; ++flow) ways.insert(router.route(FabricGpu{0}, FabricGpu{8}, 0, flow)->links);
  EXPECT_EQ(ways.size(), 4U) << "flows of one pair spread over all spines";
  EXPECT_EQ(router.route(FabricGpu{0}, FabricGpu{8}, 0, 5)->links,
            router.route(FabricGpu{0}, FabricGpu{8}, 0, 5)->links);
}

// Radix 8: two NICs a router, four routers a group.
TEST(Fabric, AdaptiveRoutesOfADragonflyCarryWhatEveryPatternCanHave) {
  Cluster cables = cluster("nvswitch", 8);
  cables.fabric_kind = "dragonfly";
  cables.switch_radix = 8;
  const auto out_of = [](const Fabric& fabric, DeviceId device) {
    std::vector<double> rates;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(device, fabric.switches())))
      rates.push_back(fabric.switches()[edge].capacity.value() / 25e9);
    return rates;
  };
  const Fabric one(cables, 1, true), three(cables, 3);
  EXPECT_EQ(one.shape().groups, 1);
  EXPECT_EQ(out_of(one, 0), std::vector{2.0}) << "both NICs of a router get through";
  ASSERT_EQ(three.shape().groups, 3);
  // Eight cables leave a group, four to each other group. A flow of six takes four straight, and two over the third
  // group, where they meet two of its own.
  EXPECT_DOUBLE_EQ(out_of(three, static_cast<DeviceId>(three.shape().routers)).back(), 6.0);
  std::vector<double> capacity;
  for (const Link& link : one.links()) capacity.push_back(link.capacity.value());
  const std::vector<bool> possible = possible_bottlenecks(one, capacity);
  for (std::uint32_t id = one.network_begin(); id < possible.size(); ++id) EXPECT_FALSE(possible[id]);
  cables.adaptive_routing = false;
  EXPECT_EQ(out_of(Fabric(cables, 1, true), 0), (std::vector{1.0, 1.0, 1.0})) << "a cable to every other router";
}

TEST(Fabric, RoutesAvoidFailedLinks) {
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
  for (std::uint64_t flow = 0; flow < 64; ++flow) ways.insert(router.route(FabricGpu{0}, FabricGpu{8}, 0, flow)->links);
  EXPECT_EQ(ways.size(), 3U) << "three spines are left";
  for (const bool out : {true, false}) failed[fabric.nic_link(FabricNode{1}, 0, out)] = true;
  Router lame(fabric, failed);
  EXPECT_EQ(lame.nics_near(FabricGpu{8}), std::vector{1});
  EXPECT_EQ(lame.route(FabricGpu{0}, FabricGpu{8}, 0)->links,
            Router(fabric, failed).route(FabricGpu{0}, FabricGpu{8}, 0)->links);
  EXPECT_EQ(lame.route(FabricGpu{0}, FabricGpu{16}, 0)->links,
            Router(fabric).route(FabricGpu{0}, FabricGpu{16}, 0)->links)
      << "others keep their way";
}

// Returns true when working links join two GPUs: inside their node, or out of one node, over switches and into the
// other.
bool are_joined(const Graph& graph, const std::vector<bool>& failed, DeviceId from, DeviceId to) {
  const auto here = graph[from].node, there = graph[to].node;
  const auto search = [&](bool through_network) {
    // A device counts twice: on the way out, and in the network or beyond it.
    std::set<std::pair<DeviceId, bool>> visited = {{from, false}};
    std::vector<std::pair<DeviceId, bool>> reached = {{from, false}};
    for (std::size_t next = 0; next < reached.size(); ++next) {
      const auto [at, beyond] = reached[next];
      for (const auto edge : boost::make_iterator_range(boost::out_edges(at, graph))) {
        const DeviceId after = boost::target(edge, graph);
        const bool is_switch = !graph[after].node;
        if (failed[graph[edge].id] || (is_switch && !through_network)) continue;
        if (beyond && graph[at].node && is_switch) continue;  // arrived
        if (!is_switch && graph[after].node != (beyond ? there : here)) continue;
        const std::pair place(after, beyond || is_switch);
        if (visited.insert(place).second) reached.push_back(place);
      }
    }
    return visited.contains({to, through_network});
  };
  return (here == there && search(false)) || search(true);
}

TEST(Fabric, WithAnythingFailedARouteIsFoundExactlyWhereThereIsOne) {
  std::mt19937 random(1);
  int found = 0, none = 0;
  for (const auto& [name, c, nodes] : fabrics()) {
    SCOPED_TRACE(name);
    const Fabric fabric(c, nodes);
    Graph graph;
    const auto ends = ends_of(fabric, graph);
    const auto devices = boost::num_vertices(fabric.node().graph);
    for (int trial = 0; trial < 60; ++trial) {
      std::vector<bool> failed(fabric.links().size(), false);
      std::set<std::pair<DeviceId, DeviceId>> cut;
      const auto one_in = static_cast<std::size_t>(2 + trial % 7);
      for (const auto& [link, at] : ends)
        if (random() % one_in == 0) cut.insert(std::minmax(at.from, at.to));
      for (const auto& [link, at] : ends) failed[link] = cut.contains(std::minmax(at.from, at.to));
      Router router(fabric, failed);
      const int to = 1 + static_cast<int>(random() % static_cast<std::size_t>(8 * nodes - 1));
      const DeviceId last = static_cast<DeviceId>(to / 8) * devices + static_cast<DeviceId>(to % 8);
      const std::vector<int>& near = router.nics_near(FabricGpu{0});
      const std::optional<Route> route =
          router.route(FabricGpu{0}, id_of<FabricGpu>(to), near.empty() ? 0 : near.front());
      ASSERT_EQ(route.has_value(), are_joined(graph, failed, 0, last)) << "to GPU " << to << ", trial " << trial;
      ++(route ? found : none);
      if (!route) continue;
      DeviceId at = 0;
      for (const std::uint32_t link : route->links) {
        EXPECT_FALSE(failed[link]);
        ASSERT_EQ(ends.at(link).from, at);
        at = ends.at(link).to;
      }
      EXPECT_EQ(at, last);
    }
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(none, 100);
}

TEST(Fabric, AGpuWithoutItsPcieCableLeavesOverAnother) {
  const Fabric fabric(cluster("nvswitch", 8), 2);
  std::vector<bool> failed(fabric.links().size(), false);
  for (const auto& [a, b] : {std::pair("node 0 gpu 0", "node 0 pcie 0"), std::pair("node 0 pcie 0", "node 0 host 0")})
    for (const std::uint32_t link : links_between(fabric, a, b)) failed[link] = true;
  Router router(fabric, failed);
  EXPECT_EQ(router.nics_near(FabricGpu{0}), std::vector{1}) << "NIC 0 works, but nothing leads to it";
  EXPECT_EQ(router.nics_near(FabricGpu{1}), std::vector{1});
  EXPECT_EQ(router.route(FabricGpu{0}, FabricGpu{8}, 1)->links.size(), 10U)
      << "NVLink, GPU 1, NIC 1, its leaf, and the same there";
  EXPECT_NE(router.route(FabricGpu{0}, FabricGpu{8}, 0)->links, router.route(FabricGpu{0}, FabricGpu{8}, 1)->links)
      << "arrives at NIC 0";
}

TEST(Fabric, LinksAreFoundByTheNamesOfTheirEnds) {
  for (const auto& [name, c, nodes] : fabrics()) {
    SCOPED_TRACE(name);
    const Fabric fabric(c, nodes);
    Graph graph;
    std::map<std::pair<std::string, std::string>, std::set<std::uint32_t>> joined;
    for (const auto& [link, at] : ends_of(fabric, graph))
      joined[std::minmax(name_of(graph[at.from]), name_of(graph[at.to]))].insert(link);
    for (const auto& [names, links] : joined) {
      const std::vector<std::uint32_t> found = links_between(fabric, names.second, names.first);
      EXPECT_EQ(std::set(found.begin(), found.end()), links) << names.first << ", " << names.second;
    }
    EXPECT_TRUE(links_between(fabric, "node 0 gpu 0", "node 0 gpu 7").empty()) << "no cable";
    for (const char* wrong :
         {"", "gpu 0", "node 0", "node 00 gpu 0", "node 0 gpu 0 ", "node 99 gpu 0", "node -1 gpu 0"})
      EXPECT_TRUE(links_between(fabric, wrong, "node 0 pcie 0").empty()) << wrong;
  }
}

TEST(Fabric, GpusBesideALinkStandAtItsEndsOrNearItsNic) {
  struct Beside {
    const char *from, *to;
    std::vector<int> gpus;
  };
  Cluster c = cluster("nvswitch", 4);  // a NIC for two GPUs
  const Fabric fabric(c, 3);
  const Router router(fabric);
  for (const auto& [from, to, gpus] :
       {Beside{"node 1 gpu 3", "node 1 nvswitch 0", {11}}, Beside{"node 2 gpu 0", "node 2 pcie 0", {16}},
        Beside{"node 1 pcie 1", "node 1 nic 1", {10, 11}}, Beside{"node 2 nic 3", "leaf 3", {22, 23}},
        Beside{"node 0 pcie 0", "node 0 host 0", {}}}) {
    SCOPED_TRACE(from);
    const std::vector<std::uint32_t> links = links_between(fabric, from, to);
    ASSERT_FALSE(links.empty());
    for (const std::uint32_t link : links) EXPECT_EQ(numbers_of(gpus_beside(router, link)), gpus);
  }
  EXPECT_TRUE(gpus_beside(router, fabric.network_begin()).empty()) << "between switches, where there is one";
}

TEST(Fabric, LinksOfAThinTreeAreBottlenecksAndLinksOfAFullTreeAreNot) {
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
    for (int nic = 0; nic < 8; ++nic) EXPECT_TRUE(possible[fabric.nic_link(FabricNode{0}, nic, true)]);
    return found;
  };
  EXPECT_EQ(uplinks(1), 0);
  EXPECT_EQ(uplinks(2), 6) << "three leaves, up and down";
}

}  // namespace
}  // namespace foretoken::net

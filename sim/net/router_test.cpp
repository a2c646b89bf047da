// Tests that routes are shortest where many nodes and switches share what is known of them.
#include "sim/net/router.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace foretoken::net {
namespace {

constexpr int kNodes = 9, kGpus = 8;

// A tree of rails in pods under a core, or with four spines a pod, each a device of its own.
Cluster tree(bool adaptive) {
  Cluster c;
  c.gpus_per_node = kGpus;
  c.nvlink_fabric = "nvswitch";
  c.links = {.nvlink_per_gpu = gigabytes_per_second(300),
             .pcie_per_gpu = gigabytes_per_second(31),
             .nic = gigabytes_per_second(25),
             .nics = 8,
             .gpus = kGpus,
             .oversubscription = 1,
             .hop_latency = microseconds(0.5)};
  c.fabric_kind = "fat-tree";
  c.rail_optimized = true;
  c.adaptive_routing = adaptive;
  c.switch_radix = 8;
  return c;
}

class Failures {
 public:
  explicit Failures(const Fabric& fabric) : fabric_(fabric), failed_(fabric.links().size(), false) {}
  void cut(const std::string& a, const std::string& b) {
    const std::vector<std::uint32_t> links = links_between(fabric_, a, b);
    ASSERT_FALSE(links.empty()) << a << ", " << b;
    for (const std::uint32_t link : links) failed_[link] = true;
  }
  void cut_nic(int node, int nic) {
    for (const bool out : {true, false}) failed_[fabric_.nic_link(id_of<FabricNode>(node), nic, out)] = true;
  }
  [[nodiscard]] const std::vector<bool>& failed() const { return failed_; }

  // Counts the working cables on a shortest way between two switches, one layer after another.
  [[nodiscard]] std::size_t hops(DeviceId from, DeviceId to) const {
    const Graph& graph = fabric_.switches();
    std::vector<bool> reached(boost::num_vertices(graph), false);
    std::vector<DeviceId> layer = {from};
    reached[from] = true;
    for (std::size_t hops = 0; !layer.empty(); ++hops) {
      std::vector<DeviceId> next;
      for (const DeviceId at : layer) {
        if (at == to) return hops;
        for (const auto edge : boost::make_iterator_range(boost::out_edges(at, graph))) {
          const DeviceId there = boost::target(edge, graph);
          if (reached[there] || failed_[fabric_.network_begin() + graph[edge].id]) continue;
          reached[there] = true;
          next.push_back(there);
        }
      }
      layer = std::move(next);
    }
    return std::numeric_limits<std::size_t>::max();
  }

 private:
  const Fabric& fabric_;
  std::vector<bool> failed_;
};

TEST(Router, RoutesAreShortestWhereNodesAndLeavesAreAlikeAndWhereTheyAreNot) {
  for (const bool adaptive : {true, false}) {
    SCOPED_TRACE(adaptive ? "one device for the spines of a pod" : "spines by name");
    const Fabric fabric(tree(adaptive), kNodes);
    Failures failures(fabric);
    for (const int node : {1, 4, 7}) failures.cut_nic(node, 0);
    failures.cut_nic(2, 3);
    if (!adaptive) failures.cut("leaf 1", "spine 0");
    Router router(fabric, failures.failed());
    for (int from = 0; from < kNodes * kGpus; ++from)
      for (int to = 0; to < kNodes * kGpus; ++to) {
        const int here = from / kGpus, there = to / kGpus, nic = from % kGpus;
        if (here == there) continue;
        const auto route = router.route(id_of<FabricGpu>(from), id_of<FabricGpu>(to), nic);
        ASSERT_TRUE(route) << from << " to " << to;
        std::vector<std::uint32_t> cables;  // of NICs and between switches
        for (const std::uint32_t link : route->links) {
          EXPECT_FALSE(failures.failed()[link]) << from << " to " << to;
          if (fabric.links()[link].kind == LinkKind::kNetwork) cables.push_back(link);
        }
        const auto works = [&](int node, int number) {
          return !failures.failed()[fabric.nic_link(id_of<FabricNode>(node), number, true)];
        };
        const auto used = [&](int node) { return works(node, nic) ? nic : (nic + 1) % kGpus; };
        ASSERT_EQ(cables.front(), fabric.nic_link(id_of<FabricNode>(here), used(here), true)) << from << " to " << to;
        ASSERT_EQ(cables.back(), fabric.nic_link(id_of<FabricNode>(there), used(there), false)) << from << " to " << to;
        EXPECT_EQ(cables.size(), 2 + failures.hops(fabric.switch_of(id_of<FabricNode>(here), used(here)),
                                                   fabric.switch_of(id_of<FabricNode>(there), used(there))))
            << from << " to " << to;
      }
    EXPECT_EQ(router.nics_near(FabricGpu{0}), std::vector{0}) << "a whole node";
    for (const int node : {1, 4, 7})
      EXPECT_EQ(router.nics_near(id_of<FabricGpu>(node * kGpus)), std::vector{1}) << node;
    EXPECT_EQ(router.nics_near(FabricGpu{2 * kGpus}), std::vector{0}) << "another NIC of its node has failed";
    EXPECT_EQ(router.nics_near(FabricGpu{2 * kGpus + 3}), std::vector{4});
  }
}

}  // namespace
}  // namespace foretoken::net

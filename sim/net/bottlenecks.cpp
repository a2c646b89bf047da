// Finds the links of a fabric that can be a bottleneck.
#include <algorithm>

#include "sim/net/fabric.h"

namespace foretoken::net {
namespace {

// Returns the height above the nodes, or 0 for a device without one.
int tier(const Device& device) {
  switch (device.kind) {
    case DeviceKind::kNic:
      return 1;
    case DeviceKind::kLeaf:
    case DeviceKind::kRouter:
      return 2;
    case DeviceKind::kSpine:
    case DeviceKind::kGroup:
      return 3;
    case DeviceKind::kCore:
    case DeviceKind::kGlobal:
      return 4;
    default:
      return 0;
  }
}

// A link, and the places of its two ends in tables over all devices: those of every node, then the switches.
struct Joined {
  std::uint32_t link;
  std::size_t from, to;
  int from_tier, to_tier;
};

// Calls f(Joined) for every link with an end on a NIC or above: those of the nodes, of the NICs, of the network. Nodes
// are copies of one another, so no graph of the whole fabric is made.
template <class F>
void for_each_joined(const Fabric& fabric, const F& f) {
  const NodeGraph& node = fabric.node();
  const std::size_t per_node = boost::num_vertices(node.graph);
  std::vector<Joined> inner;
  for_each_edge(node.graph, [&](auto edge) {
    const DeviceId a = boost::source(edge, node.graph), b = boost::target(edge, node.graph);
    const int here = tier(node.graph[a]), there = tier(node.graph[b]);
    if (here > 0 || there > 0) inner.push_back({node.graph[edge].id, a, b, here, there});
  });
  const Graph& switches = fabric.switches();
  const std::size_t first_switch = static_cast<std::size_t>(fabric.nodes()) * per_node;
  for (const FabricNode n : fabric.all_nodes()) {
    const std::size_t base = n.index() * per_node;
    for (const Joined& each : inner)
      f(Joined{fabric.node_link(n, each.link), base + each.from, base + each.to, each.from_tier, each.to_tier});
    if (!fabric.has_network()) continue;
    for (int nic = 0; nic < node.nics; ++nic) {
      const DeviceId leaf = fabric.switch_of(n, nic);
      const std::size_t here = base + node.nic(nic), there = first_switch + leaf;
      const int above = tier(switches[leaf]);
      f(Joined{fabric.nic_link(n, nic, true), here, there, 1, above});
      f(Joined{fabric.nic_link(n, nic, false), there, here, above, 1});
    }
  }
  for_each_edge(switches, [&](auto edge) {
    const DeviceId a = boost::source(edge, switches), b = boost::target(edge, switches);
    f(Joined{fabric.network_begin() + switches[edge].id, first_switch + a, first_switch + b, tier(switches[a]),
             tier(switches[b])});
  });
}

}  // namespace

std::vector<bool> possible_bottlenecks(const Fabric& fabric, const std::vector<double>& capacity) {
  const std::size_t devices = static_cast<std::size_t>(fabric.nodes()) * boost::num_vertices(fabric.node().graph) +
                              boost::num_vertices(fabric.switches());
  // By device: the capacity that comes in from below, and the capacity that leaves it downwards. For a NIC: from and to
  // the network.
  std::vector<double> from_below(devices, 0), downwards(devices, 0), network_out(devices, 0), network_in(devices, 0);
  for_each_joined(fabric, [&](const Joined& each) {
    const auto& [link, from, to, here, there] = each;
    if (here == 0 || there == 0) return;
    if (here < there) from_below[to] += capacity[link];
    if (here > there) downwards[from] += capacity[link];
    if (here == 1 && there == 2) network_out[from] += capacity[link];
    if (here == 2 && there == 1) network_in[to] += capacity[link];
  });
  std::vector<bool> possible(capacity.size(), true);
  for_each_joined(fabric, [&](const Joined& each) {
    const auto& [link, from, to, here, there] = each;
    const double own = capacity[link] * (1 + 1e-9);
    double most = 0;  // capacity that the other links let through
    if (here >= 2 && there > here)
      most = from_below[from];
    else if (there >= 2 && here > there)
      most = downwards[to];
    else if (here == 0 && there == 1)
      most = network_out[to];
    else if (here == 1 && there == 0)
      most = network_in[from];
    else
      return;
    if (most > 0 && most <= own) possible[link] = false;
  });
  return possible;
}

}  // namespace foretoken::net

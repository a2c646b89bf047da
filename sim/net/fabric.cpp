// The network above the nodes: fat trees and dragonflies, sized for the nodes of a job.
#include "sim/net/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/check.h"
#include "sim/base/parse_number.h"

namespace foretoken::net {
namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

// A device in the graph of its node, or in the graph of the network.
struct Place {
  std::optional<FabricNode> node;
  DeviceId device = 0;
};

const Graph& graph_of(const Fabric& fabric, std::optional<FabricNode> node) {
  return node ? fabric.node().graph : fabric.switches();
}

std::optional<int> number_at(std::string_view text, std::size_t at) {
  text.remove_prefix(at);
  return take_number<int>(text, 0);
}

std::string_view kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kNvSwitch:
      return "nvswitch";
    case DeviceKind::kHost:
      return "host";
    case DeviceKind::kPcieSwitch:
      return "pcie";
    case DeviceKind::kNic:
      return "nic";
    case DeviceKind::kLeaf:
      return "leaf";
    case DeviceKind::kSpine:
      return "spine";
    case DeviceKind::kCore:
      return "core";
    case DeviceKind::kRouter:
      return "router";
    case DeviceKind::kGroup:
      return "group";
    case DeviceKind::kGlobal:
      return "global";
  }
  contract_broken("every kind of device has a name", __FILE__, __LINE__);
}

// Finds the device with this name, as name_of writes it.
std::optional<Place> place_of(const Fabric& fabric, std::string_view name) {
  constexpr std::string_view kNode = "node ";
  const std::optional<int> index = number_at(name, name.find_last_of(' ') + 1);
  if (!index) return std::nullopt;
  std::optional<FabricNode> node;
  if (name.starts_with(kNode)) {
    const std::optional<int> number = number_at(name, kNode.size());
    if (!number || *number >= fabric.nodes()) return std::nullopt;
    node = id_of<FabricNode>(*number);
  }
  const Graph& graph = graph_of(fabric, node);
  const auto is_it = [&](DeviceId v) {
    return graph[v].index == *index && name.find(kind_name(graph[v].kind)) != std::string_view::npos &&
           name_of({graph[v].kind, node, *index}) == name;
  };
  // GPUs, leaves and routers come first. Scenarios may name tens of thousands of them.
  if (const auto first = static_cast<DeviceId>(*index); first < boost::num_vertices(graph) && is_it(first))
    return Place{node, first};
  for (DeviceId v = 0; v < boost::num_vertices(graph); ++v)
    if (is_it(v)) return Place{node, v};
  return std::nullopt;
}

// Adds the links that lead straight from one device to the other.
void add_links(const Fabric& fabric, Place from, Place to, std::vector<std::uint32_t>& links) {
  if (from.node == to.node) {
    const Graph& graph = graph_of(fabric, from.node);
    const std::uint32_t first = from.node ? fabric.node_link(*from.node, 0) : fabric.network_begin();
    for (const auto edge : boost::make_iterator_range(boost::out_edges(from.device, graph)))
      if (boost::target(edge, graph) == to.device) links.push_back(first + graph[edge].id);
  } else if (!from.node || !to.node) {
    const bool out = !to.node;
    const Place &inner = out ? from : to, &outer = out ? to : from;
    const Device& nic = fabric.node().graph[inner.device];
    if (nic.kind == DeviceKind::kNic && fabric.switch_of(*inner.node, nic.index) == outer.device)
      links.push_back(fabric.nic_link(*inner.node, nic.index, out));
  }
}

}  // namespace

Fabric::Fabric(const Cluster& cluster, int nodes, bool joined) {
  build_node(cluster, node_);
  expects(nodes >= 1, "a fabric has at least one node");
  shape_.nodes = nodes;
  shape_.nics = node_.nics;
  std::vector<Link> inner(node_.links);
  for_each_edge(node_.graph, [&](auto edge) { inner[node_.graph[edge].id] = node_.graph[edge]; });
  links_.reserve(static_cast<std::size_t>(nodes) * (inner.size() + 2 * static_cast<std::size_t>(node_.nics)));
  for (const FabricNode n : all_nodes())
    for (Link link : inner) {
      link.id = node_link(n, link.id);
      links_.push_back(link);
    }
  if ((nodes == 1 && !joined) || node_.nics == 0) {
    network_begin_ = static_cast<std::uint32_t>(links_.size());
    return;
  }
  const BytesPerSecond rate = cluster.links.nic;
  for (int i = 0; i < 2 * nodes * node_.nics; ++i)
    links_.push_back({static_cast<std::uint32_t>(links_.size()), LinkKind::kNetwork, rate, cluster.links.hop_latency});
  network_begin_ = static_cast<std::uint32_t>(links_.size());
  switch_of_nic_.resize(static_cast<std::size_t>(nodes * node_.nics));
  if (cluster.fabric_kind == "dragonfly")
    build_dragonfly(cluster);
  else
    build_fat_tree(cluster);
}

DeviceId Fabric::switch_of(FabricNode node, int nic) const {
  return switch_of_nic_[static_cast<std::size_t>(node.number() * node_.nics + nic)];
}

std::uint32_t Fabric::nic_link(FabricNode node, int nic, bool out) const {
  const std::uint32_t nodes_end = static_cast<std::uint32_t>(shape_.nodes) * node_.links;
  return nodes_end + 2 * static_cast<std::uint32_t>(node.number() * node_.nics + nic) + (out ? 0 : 1);
}

DeviceId Fabric::add_switch(DeviceKind kind, int index) {
  return boost::add_vertex(Device{kind, std::nullopt, index}, switches_);
}

void Fabric::connect(DeviceId a, DeviceId b, double cables, const Cluster& cluster) {
  const auto add = [&](DeviceId from, DeviceId to) {
    const Link link{static_cast<std::uint32_t>(links_.size()), LinkKind::kNetwork, cables * cluster.links.nic,
                    cluster.links.hop_latency};
    links_.push_back(link);
    boost::add_edge(from, to, Link{link.id - network_begin_, link.kind, link.capacity, link.latency}, switches_);
  };
  add(a, b);
  add(b, a);
}

void Fabric::build_fat_tree(const Cluster& cluster) {
  const int nodes = shape_.nodes, nics = shape_.nics;
  const double over = cluster.links.oversubscription;
  const bool one_switch = cluster.fabric_kind == "single-switch";
  const bool rails = cluster.rail_optimized && !one_switch;
  const int half = std::max(1, static_cast<int>(cluster.switch_radix * over / (1 + over)));
  // A leaf has room for a node, with as many ports as a node takes.
  const int down = one_switch ? nodes * nics : rails ? half : std::max(half, nics);
  const int rows = rails ? ceil_div(nodes, down) : 1;  // leaves of one rail
  const int nodes_a_leaf = std::max(1, down / std::max(1, nics));
  shape_.leaves = one_switch ? 1 : rails ? rows * nics : ceil_div(nodes, nodes_a_leaf);
  for (int i = 0; i < shape_.leaves; ++i) add_switch(DeviceKind::kLeaf, i);
  for (int node = 0; node < nodes; ++node)
    for (int nic = 0; nic < nics; ++nic) {
      const int leaf = one_switch ? 0 : rails ? node / down * nics + nic : node / nodes_a_leaf;
      switch_of_nic_[static_cast<std::size_t>(node * nics + nic)] = static_cast<DeviceId>(leaf);
    }
  if (shape_.leaves == 1) return;
  // Pods of leaves that one layer of spines joins. A spine has a port for each leaf.
  const bool pods_needed = shape_.leaves > cluster.switch_radix;
  const int leaves_a_pod = pods_needed ? std::max(1, cluster.switch_radix / 2) : shape_.leaves;
  const int pods = ceil_div(shape_.leaves, leaves_a_pod);
  const int up = std::max(1, static_cast<int>(std::lround(down / over)));
  const int planes = cluster.adaptive_routing ? 1 : up;
  const double cables = static_cast<double>(up) / planes;
  for (int pod = 0; pod < pods; ++pod)
    for (int plane = 0; plane < planes; ++plane) {
      const DeviceId spine = add_switch(DeviceKind::kSpine, shape_.spines++);
      const int end = std::min(shape_.leaves, (pod + 1) * leaves_a_pod);
      for (int leaf = pod * leaves_a_pod; leaf < end; ++leaf)
        connect(static_cast<DeviceId>(leaf), spine, cables, cluster);
    }
  if (pods == 1) return;
  for (int plane = 0; plane < planes; ++plane) {
    const DeviceId core = add_switch(DeviceKind::kCore, shape_.cores++);
    for (int pod = 0; pod < pods; ++pod)
      connect(static_cast<DeviceId>(shape_.leaves + pod * planes + plane), core, cables * leaves_a_pod, cluster);
  }
}

// In a dragonfly a router has `hosts` NICs. A group has twice as many routers, and each has `hosts` cables to other
// groups.
void Fabric::build_dragonfly(const Cluster& cluster) {
  const int hosts = std::max(1, cluster.switch_radix / 4);
  const int endpoints = shape_.nodes * shape_.nics;
  shape_.routers = ceil_div(endpoints, hosts);
  shape_.groups = ceil_div(shape_.routers, 2 * hosts);
  for (int i = 0; i < shape_.routers; ++i) add_switch(DeviceKind::kRouter, i);
  for (int i = 0; i < endpoints; ++i) switch_of_nic_[static_cast<std::size_t>(i)] = static_cast<DeviceId>(i / hosts);
  if (shape_.routers == 1) return;
  if (cluster.adaptive_routing)
    join_routers_over_devices(cluster, hosts);
  else
    join_routers_by_cables(cluster, hosts);
}

// Inside a group the rate of every NIC gets through, whatever the pattern. Say every router sends all that its p NICs
// have to one other router. One part takes the direct cable, p - 1 parts take two cables each. That is 2p - 1 parts a
// router, and it has 2p - 1 cables.
//
// Between G groups the same count decides. All traffic of a group goes to one other group, which 1 / (G - 1) of its
// cables reach directly. All else takes two cables. So G / (2 (G - 1)) of the cables count, half of them in a large
// machine.
void Fabric::join_routers_over_devices(const Cluster& cluster, int hosts) {
  const int routers_a_group = 2 * hosts;
  for (int g = 0; g < shape_.groups; ++g) {
    const DeviceId group = add_switch(DeviceKind::kGroup, g);
    const int end = std::min(shape_.routers, (g + 1) * routers_a_group);
    for (int router = g * routers_a_group; router < end; ++router)
      connect(static_cast<DeviceId>(router), group, hosts, cluster);
  }
  if (shape_.groups == 1) return;
  const DeviceId global = add_switch(DeviceKind::kGlobal, 0);
  const double cables = static_cast<double>(routers_a_group * hosts) / cluster.links.oversubscription;
  const double counted = cables * shape_.groups / (2.0 * (shape_.groups - 1));
  for (int g = 0; g < shape_.groups; ++g) connect(static_cast<DeviceId>(shape_.routers + g), global, counted, cluster);
}

// Routes are minimal: the cables between two groups have their own router on each side.
void Fabric::join_routers_by_cables(const Cluster& cluster, int hosts) {
  const int routers_a_group = 2 * hosts, groups = shape_.groups;
  for (int a = 0; a < shape_.routers; ++a)
    for (int b = a + 1; b < std::min(shape_.routers, (a / routers_a_group + 1) * routers_a_group); ++b)
      connect(static_cast<DeviceId>(a), static_cast<DeviceId>(b), 1, cluster);
  const double global =
      static_cast<double>(routers_a_group * hosts) / std::max(1, groups - 1) / cluster.links.oversubscription;
  for (int g = 0; g < groups; ++g)
    for (int other = g + 1; other < groups; ++other) {
      const auto port = [&](int from, int to) {
        const int first = from * routers_a_group;
        const int count = std::min(routers_a_group, shape_.routers - first);
        return static_cast<DeviceId>(first + (to > from ? to - 1 : to) % count);
      };
      connect(port(g, other), port(other, g), global, cluster);
    }
}

void Fabric::copy_whole(Graph& all) const {
  const auto per_node = boost::num_vertices(node_.graph);
  for (const FabricNode n : all_nodes()) {
    for (DeviceId v = 0; v < per_node; ++v) {
      Device device = node_.graph[v];
      device.node = n;
      boost::add_vertex(device, all);
    }
    const DeviceId base = n.index() * per_node;
    for_each_edge(node_.graph, [&](auto edge) {
      boost::add_edge(base + boost::source(edge, node_.graph), base + boost::target(edge, node_.graph),
                      links_[node_link(n, node_.graph[edge].id)], all);
    });
  }
  const DeviceId switches = boost::num_vertices(all);
  for (DeviceId v = 0; v < boost::num_vertices(switches_); ++v) boost::add_vertex(switches_[v], all);
  if (!has_network()) return;
  for (const FabricNode n : all_nodes())
    for (int nic = 0; nic < shape_.nics; ++nic) {
      const DeviceId here = n.index() * per_node + node_.nic(nic), there = switches + switch_of(n, nic);
      boost::add_edge(here, there, links_[nic_link(n, nic, true)], all);
      boost::add_edge(there, here, links_[nic_link(n, nic, false)], all);
    }
  for_each_edge(switches_, [&](auto edge) {
    boost::add_edge(switches + boost::source(edge, switches_), switches + boost::target(edge, switches_),
                    links_[network_begin_ + switches_[edge].id], all);
  });
}

std::vector<std::uint32_t> links_between(const Fabric& fabric, std::string_view a, std::string_view b) {
  const std::optional<Place> one = place_of(fabric, a), other = place_of(fabric, b);
  std::vector<std::uint32_t> links;
  if (!one || !other) return links;
  add_links(fabric, *one, *other, links);
  add_links(fabric, *other, *one, links);
  return links;
}

std::vector<std::string> link_names(const Fabric& fabric, std::span<const std::uint32_t> ids) {
  Graph all;
  fabric.copy_whole(all);
  std::vector<std::string> names(ids.size());
  for_each_edge(all, [&](auto edge) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == all[edge].id)
        names[i] =
            fmt::format("{} to {}", name_of(all[boost::source(edge, all)]), name_of(all[boost::target(edge, all)]));
  });
  return names;
}

std::string name_of(const Device& device) {
  const std::string_view kind = kind_name(device.kind);
  return device.node ? fmt::format("node {} {} {}", device.node->number(), kind, device.index)
                     : fmt::format("{} {}", kind, device.index);
}

}  // namespace foretoken::net

// Routes between GPUs.
#include "sim/net/router.h"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::net {
namespace {

constexpr auto kUnreached = std::numeric_limits<std::uint32_t>::max();

/// The path with the least time per byte, hop by hop; empty when there is none. A path never passes through a NIC.
std::vector<std::uint32_t> least_time_path(const NodeGraph& node, DeviceId from, DeviceId to) {
  const Graph& graph = node.graph;
  std::vector<Graph::edge_descriptor> by(boost::num_vertices(graph));
  std::vector<DeviceId> before(boost::num_vertices(graph));
  for (DeviceId v = 0; v < before.size(); ++v) before[v] = v;
  const auto weight = boost::make_function_property_map<Graph::edge_descriptor>([&](Graph::edge_descriptor edge) {
    const DeviceId source = boost::source(edge, graph);
    const bool through_nic = source != from && graph[source].kind == DeviceKind::kNic;
    return through_nic ? std::numeric_limits<double>::max() : 1e9 / graph[edge].capacity.value();
  });
  boost::dijkstra_shortest_paths(graph, from, boost::predecessor_map(before.data()).weight_map(weight));
  std::vector<std::uint32_t> links;
  for (DeviceId at = to; at != from; at = before[at]) {
    if (before[at] == at) return {};
    links.push_back(graph[boost::edge(before[at], at, graph).first].id);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

/// Hops from a device to every other over PCIe alone: a NIC is no nearer for an NVLink to a GPU beside it.
std::vector<std::uint32_t> pcie_hops(const NodeGraph& node, DeviceId from) {
  std::vector<std::uint32_t> hops(boost::num_vertices(node.graph), kUnreached);
  std::vector<DeviceId> reached = {from};
  hops[from] = 0;
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (const auto edge : boost::make_iterator_range(boost::out_edges(reached[next], node.graph))) {
      const DeviceId to = boost::target(edge, node.graph);
      if (node.graph[edge].kind != LinkKind::kPcie || hops[to] != kUnreached) continue;
      hops[to] = hops[reached[next]] + 1;
      reached.push_back(to);
    }
  return hops;
}

/// splitmix64: a fixed hash, so that routes are the same on every machine.
std::uint64_t hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Router::Router(const Fabric& fabric) : fabric_(fabric) {
  const NodeGraph& node = fabric.node();
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    const std::vector<std::uint32_t> hops = pcie_hops(node, node.gpu(gpu));
    const auto first = hops.begin() + node.gpus;  // of the NICs
    auto& near = near_.emplace_back();
    for (int nic = 0; nic < node.nics; ++nic)
      if (first[nic] == *std::min_element(first, first + node.nics)) near.push_back(nic);
  }
}

int Router::nearest_nic(int gpu, int which) const {
  const auto& near = near_[static_cast<std::size_t>(gpu % fabric_.node().gpus)];
  expects(!near.empty(), "a GPU that leaves its node has a NIC");
  return near[static_cast<std::size_t>(which) % near.size()];
}

const std::vector<std::uint32_t>& Router::inside(DeviceId from, DeviceId to) {
  const auto found = inside_.find({from, to});
  if (found != inside_.end()) return found->second;
  auto path = least_time_path(fabric_.node(), from, to);
  expects(!path.empty(), "the devices of a node are connected");
  return inside_.emplace(std::pair(from, to), std::move(path)).first->second;
}

const std::vector<std::uint32_t>& Router::distances_to(DeviceId leaf) {
  const auto found = distances_.find(leaf);
  if (found != distances_.end()) return found->second;
  const Graph& graph = fabric_.switches();  // every cable has both directions, so distances from are distances to
  std::vector<std::uint32_t> hops(boost::num_vertices(graph), kUnreached);
  hops[leaf] = 0;
  boost::breadth_first_search(
      graph, leaf,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(hops.data(), boost::on_tree_edge()))));
  return distances_.emplace(leaf, std::move(hops)).first->second;
}

Route Router::route(int from, int to, int nic, std::uint64_t flow) {
  const NodeGraph& node = fabric_.node();
  const int here = from / node.gpus, there = to / node.gpus;
  expects(from != to && here < fabric_.nodes() && there < fabric_.nodes(), "a route joins two GPUs of the fabric");
  Route route;
  const auto through_node = [&](int at, DeviceId a, DeviceId b) {
    for (const std::uint32_t link : inside(a, b)) route.links.push_back(fabric_.node_link(at, link));
  };
  if (here == there) {
    through_node(here, node.gpu(from % node.gpus), node.gpu(to % node.gpus));
    return route;
  }
  expects(nic >= 0 && nic < node.nics, "a flow between nodes takes a NIC of its node");
  const auto take = [&](std::uint32_t link) {
    route.links.push_back(link);
    route.latency += fabric_.links()[link].latency;
  };
  through_node(here, node.gpu(from % node.gpus), node.nic(nic));
  take(fabric_.nic_link(here, nic, true));
  const Graph& switches = fabric_.switches();
  const DeviceId target = fabric_.switch_of(there, nic);
  const std::vector<std::uint32_t>& hops = distances_to(target);
  std::uint64_t draw = hash(hash(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)) ^ flow);
  for (DeviceId at = fabric_.switch_of(here, nic); at != target;) {
    expects(hops[at] != kUnreached, "the switches are connected");
    std::vector<Graph::edge_descriptor> nearer;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, switches)))
      if (hops[boost::target(edge, switches)] + 1 == hops[at]) nearer.push_back(edge);
    const auto edge = nearer[draw % nearer.size()];
    draw = hash(draw);
    take(fabric_.network_begin() + switches[edge].id);
    at = boost::target(edge, switches);
  }
  take(fabric_.nic_link(there, nic, false));
  through_node(there, node.nic(nic), node.gpu(to % node.gpus));
  return route;
}

}  // namespace foretoken::net

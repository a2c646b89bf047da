// Routes between GPUs.
#include "sim/net/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/hash.h"

namespace foretoken::net {
namespace {

constexpr auto kUnreached = std::numeric_limits<std::uint32_t>::max();
constexpr double kNoWay = 1e30;  // longer than any path

/// The path with the least time per byte over links for which works(local id) holds, hop by hop; empty when there is
/// none. A path never passes through a NIC.
template <class Works>
std::vector<std::uint32_t> least_time_path(const NodeGraph& node, DeviceId from, DeviceId to, const Works& works) {
  const Graph& graph = node.graph;
  std::vector<DeviceId> before(boost::num_vertices(graph));
  for (DeviceId v = 0; v < before.size(); ++v) before[v] = v;
  const auto weight = boost::make_function_property_map<Graph::edge_descriptor>([&](Graph::edge_descriptor edge) {
    const DeviceId source = boost::source(edge, graph);
    const bool through_nic = source != from && graph[source].kind == DeviceKind::kNic;
    return through_nic || !works(graph[edge].id) ? kNoWay : 1e9 / graph[edge].capacity.value();
  });
  std::vector<double> distance(before.size());
  boost::dijkstra_shortest_paths(
      graph, from, boost::predecessor_map(before.data()).weight_map(weight).distance_map(distance.data()));
  if (distance[to] >= kNoWay) return {};
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

// Whether a link of the network works.
struct Working {
  const Fabric* fabric = nullptr;
  const std::vector<bool>* failed = nullptr;
  bool operator()(Graph::edge_descriptor edge) const {
    return failed->empty() || !(*failed)[fabric->network_begin() + fabric->switches()[edge].id];
  }
};

}  // namespace

Router::Router(const Fabric& fabric, std::vector<bool> failed) : fabric_(fabric), failed_(std::move(failed)) {
  const NodeGraph& node = fabric.node();
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    const std::vector<std::uint32_t> hops = pcie_hops(node, node.gpu(gpu));
    const auto first = hops.begin() + node.gpus;  // of the NICs
    auto& near = near_.emplace_back();
    for (int nic = 0; nic < node.nics; ++nic)
      if (first[nic] == *std::min_element(first, first + node.nics)) near.push_back(nic);
  }
}

bool Router::is_whole(int node) const {
  if (failed_.empty()) return true;
  const auto first = failed_.begin() + fabric_.node_link(node, 0);
  return std::none_of(first, first + fabric_.node().links, [](bool failed) { return failed; });
}

// A cable to its network switch, and one into its node.
bool Router::nic_works(int node, int nic) const {
  if (failed_.empty()) return true;
  if (!works(fabric_.nic_link(node, nic, true))) return false;
  const Graph& graph = fabric_.node().graph;
  const auto cables = boost::make_iterator_range(boost::out_edges(fabric_.node().nic(nic), graph));
  return std::any_of(cables.begin(), cables.end(),
                     [&](auto edge) { return works(fabric_.node_link(node, graph[edge].id)); });
}

std::vector<int> Router::working_near(int gpu) const {
  const int nics = fabric_.node().nics, node = gpu / fabric_.node().gpus;
  std::vector<int> near = near_[static_cast<std::size_t>(gpu % fabric_.node().gpus)];
  expects(!near.empty(), "a GPU that leaves its node has a NIC");
  const int first = near.front();
  std::erase_if(near, [&](int nic) { return !nic_works(node, nic); });
  for (int k = 1; near.empty() && k < nics; ++k)
    if (nic_works(node, (first + k) % nics)) near.push_back((first + k) % nics);
  if (near.empty())
    throw ConfigError({{"", "/imperfections",
                        fmt::format("expected a working NIC in every node, found none in node {}: its GPUs cannot "
                                    "reach other nodes",
                                    node)}});
  return near;
}

int Router::nearest_nic(int gpu, int which) const {
  const std::vector<int> near = working_near(gpu);
  return near[static_cast<std::size_t>(which) % near.size()];
}

const std::vector<std::uint32_t>& Router::inside(int node, DeviceId from, DeviceId to) {
  const bool whole = is_whole(node);
  const std::tuple key(whole ? -1 : node, from, to);
  const auto found = inside_.find(key);
  if (found != inside_.end()) return found->second;
  auto path = least_time_path(fabric_.node(), from, to,
                              [&](std::uint32_t link) { return whole || works(fabric_.node_link(node, link)); });
  if (path.empty()) {
    Device ends[] = {fabric_.node().graph[from], fabric_.node().graph[to]};
    for (Device& end : ends) end.node = node;
    throw ConfigError({{"", "/imperfections",
                        fmt::format("expected a way between all devices of a node, found none from {} to {}: too many "
                                    "links have failed",
                                    name_of(ends[0]), name_of(ends[1]))}});
  }
  return inside_.emplace(key, std::move(path)).first->second;
}

const std::vector<std::uint32_t>& Router::distances_to(DeviceId leaf) {
  const auto found = distances_.find(leaf);
  if (found != distances_.end()) return found->second;
  // Every cable has both directions, so distances from are distances to.
  const boost::filtered_graph graph(fabric_.switches(), Working{&fabric_, &failed_});
  std::vector<std::uint32_t> hops(boost::num_vertices(fabric_.switches()), kUnreached);
  hops[leaf] = 0;
  boost::breadth_first_search(
      graph, leaf,
      boost::visitor(boost::make_bfs_visitor(boost::record_distances(hops.data(), boost::on_tree_edge()))));
  return distances_.emplace(leaf, std::move(hops)).first->second;
}

bool Router::find_nics(int here, int there, int& leaves, int& arrives) {
  if (failed_.empty()) return true;
  const int nics = fabric_.node().nics, first = leaves;
  for (int k = 0; k < nics; ++k)
    for (int l = 0; l < nics; ++l) {
      leaves = (first + k) % nics;
      arrives = (first + l) % nics;
      if (!nic_works(here, leaves) || !nic_works(there, arrives)) continue;
      if (distances_to(fabric_.switch_of(there, arrives))[fabric_.switch_of(here, leaves)] != kUnreached) return true;
    }
  return false;
}

// A shortest path between two switches.
void Router::add_network(int from, int to, DeviceId at, DeviceId target, std::uint64_t flow, Route& route) {
  const Graph& switches = fabric_.switches();
  const std::vector<std::uint32_t>& hops = distances_to(target);
  std::uint64_t draw = hash(hash(static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)) ^ flow);
  while (at != target) {
    expects(hops[at] != kUnreached, "the switches are connected");
    std::vector<Graph::edge_descriptor> nearer;
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, switches)))
      if (hops[boost::target(edge, switches)] + 1 == hops[at] && works(fabric_.network_begin() + switches[edge].id))
        nearer.push_back(edge);
    const auto edge = nearer[draw % nearer.size()];
    draw = hash(draw);
    const std::uint32_t link = fabric_.network_begin() + switches[edge].id;
    route.links.push_back(link);
    route.latency += fabric_.links()[link].latency;
    at = boost::target(edge, switches);
  }
}

Route Router::route(int from, int to, int nic, std::uint64_t flow) {
  const NodeGraph& node = fabric_.node();
  const int here = from / node.gpus, there = to / node.gpus;
  expects(from != to && here < fabric_.nodes() && there < fabric_.nodes(), "a route joins two GPUs of the fabric");
  Route route;
  const auto through_node = [&](int at, DeviceId a, DeviceId b) {
    for (const std::uint32_t link : inside(at, a, b)) route.links.push_back(fabric_.node_link(at, link));
  };
  if (here == there) {
    through_node(here, node.gpu(from % node.gpus), node.gpu(to % node.gpus));
    return route;
  }
  expects(nic >= 0 && nic < node.nics, "a flow between nodes takes a NIC of its node");
  int leaves = nic, arrives = nic;
  if (!find_nics(here, there, leaves, arrives))
    throw ConfigError({{"", "/imperfections",
                        fmt::format("expected a way between all GPUs, found none from GPU {} (node {}) to GPU {} (node "
                                    "{}): too many NICs or links have failed",
                                    from, here, to, there)}});
  const auto take = [&](std::uint32_t link) {
    route.links.push_back(link);
    route.latency += fabric_.links()[link].latency;
  };
  through_node(here, node.gpu(from % node.gpus), node.nic(leaves));
  take(fabric_.nic_link(here, leaves, true));
  add_network(from, to, fabric_.switch_of(here, leaves), fabric_.switch_of(there, arrives), flow, route);
  take(fabric_.nic_link(there, arrives, false));
  through_node(there, node.nic(arrives), node.gpu(to % node.gpus));
  return route;
}

}  // namespace foretoken::net

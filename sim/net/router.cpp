// Finds routes between GPUs.
#include "sim/net/router.h"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <limits>

#include "sim/base/check.h"
#include "sim/base/hash.h"

namespace foretoken::net {
namespace {

constexpr auto kUnreached = std::numeric_limits<std::uint32_t>::max();
constexpr double kNoWay = 1e30;  // longer than any path

/// Returns the path with the least time per byte over links for which works(local id) holds, hop by hop. It is empty
/// when there is no path. A path never passes through a NIC.
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

/// Returns the hops from a device to every other, over links that takes(link) allows, through no NIC.
template <class Takes>
std::vector<std::uint32_t> hops_from(const NodeGraph& node, DeviceId from, const Takes& takes) {
  std::vector<std::uint32_t> hops(boost::num_vertices(node.graph), kUnreached);
  std::vector<DeviceId> reached = {from};
  hops[from] = 0;
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (const auto edge : boost::make_iterator_range(boost::out_edges(reached[next], node.graph))) {
      const DeviceId to = boost::target(edge, node.graph);
      if (hops[to] != kUnreached || !takes(node.graph[edge])) continue;
      hops[to] = hops[reached[next]] + 1;
      if (node.graph[to].kind != DeviceKind::kNic) reached.push_back(to);
    }
  return hops;
}

}  // namespace

Router::Router(const Fabric& fabric, std::vector<bool> failed) : fabric_(fabric), failed_(std::move(failed)) {
  const NodeGraph& node = fabric.node();
  for (int gpu = 0; gpu < node.gpus; ++gpu) {
    // Distances count PCIe only. An NVLink to a GPU beside a NIC does not bring the NIC nearer.
    const std::vector<std::uint32_t> hops =
        hops_from(node, node.gpu(gpu), [](const Link& link) { return link.kind == LinkKind::kPcie; });
    const auto first = hops.begin() + node.gpus;  // the hops to the NICs
    auto& near = near_.emplace_back();
    for (int nic = 0; nic < node.nics; ++nic)
      if (first[nic] == *std::min_element(first, first + node.nics)) near.push_back(nic);
  }
  distances_to_.resize(boost::num_vertices(fabric.switches()));
  if (failed_.empty()) return;
  std::map<std::vector<bool>, Damage> found;
  for (const FabricNode at : fabric.all_nodes()) {
    std::vector<bool> failures = failures_in(at);
    std::optional<Damage>& damage = damage_.emplace_back();
    if (std::find(failures.begin(), failures.end(), true) == failures.end()) continue;
    const auto [same, is_new] =
        found.try_emplace(std::move(failures), Damage{static_cast<std::uint32_t>(exits_.size())});
    damage = same->second;
    if (!is_new) continue;
    std::vector<Exits>& exits = exits_.emplace_back();
    for (int place = 0; place < node.gpus; ++place) exits.push_back(exits_of(fabric.gpu_at(at, place)));
  }
}

// Returns the failed ones of a node's links, followed by the cables of its NICs where it has some.
std::vector<bool> Router::failures_in(FabricNode node) const {
  std::vector<bool> failures;
  const auto add = [&](std::uint32_t first, std::uint32_t count) {
    failures.insert(failures.end(), failed_.begin() + first, failed_.begin() + first + count);
  };
  add(fabric_.node_link(node, 0), fabric_.node().links);
  const auto nics = static_cast<std::uint32_t>(fabric_.has_network() ? fabric_.node().nics : 0);
  if (nics > 0) add(fabric_.nic_link(node, 0, true), 2 * nics);
  return failures;
}

Router::Exits Router::exits_of(FabricGpu gpu) const {
  const NodeGraph& node = fabric_.node();
  const FabricNode here = fabric_.node_of(gpu);
  const std::vector<std::uint32_t> hops = hops_from(
      node, fabric_.device_of(gpu), [&](const Link& link) { return works(fabric_.node_link(here, link.id)); });
  Exits exits;
  for (int nic = 0; nic < node.nics; ++nic)
    exits.usable.push_back(fabric_.has_network() && hops[node.nic(nic)] != kUnreached &&
                           works(fabric_.nic_link(here, nic, true)));
  const auto usable = [&](int nic) { return exits.usable[static_cast<std::size_t>(nic)]; };
  const std::vector<int>& near = near_[static_cast<std::size_t>(fabric_.place_in_node(gpu))];
  std::copy_if(near.begin(), near.end(), std::back_inserter(exits.near), usable);
  for (int k = 1; exits.near.empty() && k < node.nics; ++k)
    if (usable((near.front() + k) % node.nics)) exits.near.push_back((near.front() + k) % node.nics);
  return exits;
}

const Router::Exits* Router::damaged_exits(FabricGpu gpu) const {
  if (damage_.empty()) return nullptr;
  const std::optional<Damage>& damage = damage_[fabric_.node_of(gpu).index()];
  return damage ? &exits_[damage->index()][static_cast<std::size_t>(fabric_.place_in_node(gpu))] : nullptr;
}

bool Router::can_use(FabricGpu gpu, int nic) const {
  const Exits* const exits = damaged_exits(gpu);
  return exits == nullptr || exits->usable[static_cast<std::size_t>(nic)];
}

const std::vector<int>& Router::nics_near(FabricGpu gpu) const {
  const Exits* const exits = damaged_exits(gpu);
  return exits == nullptr ? near_[static_cast<std::size_t>(fabric_.place_in_node(gpu))] : exits->near;
}

const std::vector<std::uint32_t>& Router::inside(FabricNode node, DeviceId from, DeviceId to) {
  const std::optional<Damage> damage = damage_.empty() ? std::nullopt : damage_[node.index()];
  const std::tuple key(damage, from, to);
  const auto found = inside_.find(key);
  if (found != inside_.end()) return found->second;
  auto path = least_time_path(fabric_.node(), from, to,
                              [&](std::uint32_t link) { return !damage || works(fabric_.node_link(node, link)); });
  return inside_.emplace(key, std::move(path)).first->second;
}

std::uint32_t Router::Distances::from(DeviceId at) const {
  if (at == target) return 0;
  return from_beside[at] == kUnreached ? kUnreached : from_beside[at] + 1;
}

// Every cable has both directions, so the distances from a switch are the distances to it.
Router::Distances Router::distances_to(DeviceId leaf) {
  const std::vector<std::uint32_t>*& known = distances_to_[leaf];
  if (known != nullptr) return {*known, leaf};
  const Graph& switches = fabric_.switches();
  const auto for_each_beside = [&](DeviceId at, const auto& f) {
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, switches)))
      if (works(fabric_.network_begin() + switches[edge].id)) f(boost::target(edge, switches));
  };
  std::vector<DeviceId> beside;
  for_each_beside(leaf, [&](DeviceId other) { beside.push_back(other); });
  std::sort(beside.begin(), beside.end());
  beside.erase(std::unique(beside.begin(), beside.end()), beside.end());
  const auto [found, is_new] = distances_.try_emplace(beside);
  std::vector<std::uint32_t>& hops = found->second;
  known = &hops;
  if (!is_new) return {hops, leaf};
  hops.assign(boost::num_vertices(switches), kUnreached);
  std::vector<DeviceId> reached = beside;
  for (const DeviceId at : reached) hops[at] = 0;
  for (std::size_t next = 0; next < reached.size(); ++next)
    for_each_beside(reached[next], [&, at = reached[next]](DeviceId to) {
      if (hops[to] != kUnreached) return;
      hops[to] = hops[at] + 1;
      reached.push_back(to);
    });
  return {hops, leaf};
}

std::optional<std::pair<int, int>> Router::find_nics(FabricGpu from, FabricGpu to, int nic) {
  if (failed_.empty()) return std::pair(nic, nic);
  const FabricNode here = fabric_.node_of(from), there = fabric_.node_of(to);
  const int nics = fabric_.node().nics;
  for (int k = 0; k < nics; ++k) {
    const int leaves = (nic + k) % nics;
    if (!can_use(from, leaves)) continue;
    for (int l = 0; l < nics; ++l) {
      const int arrives = (nic + l) % nics;
      if (!can_use(to, arrives)) continue;
      if (distances_to(fabric_.switch_of(there, arrives)).from(fabric_.switch_of(here, leaves)) != kUnreached)
        return std::pair(leaves, arrives);
    }
  }
  return std::nullopt;
}

void Router::add_inside(FabricNode node, DeviceId from, DeviceId to, Route& route) {
  for (const std::uint32_t link : inside(node, from, to)) route.links.push_back(fabric_.node_link(node, link));
}

void Router::add_link(std::uint32_t link, Route& route) {
  route.links.push_back(link);
  route.latency += fabric_.links()[link].latency;
}

// Appends a shortest path between two switches.
void Router::add_network(FabricGpu from, FabricGpu to, DeviceId at, DeviceId target, std::uint64_t flow, Route& route) {
  const Graph& switches = fabric_.switches();
  const std::uint64_t ends = std::uint64_t{at} * boost::num_vertices(switches) + target;
  if (const auto found = only_path_.find(ends); found != only_path_.end()) {
    for (const std::uint32_t link : found->second) add_link(link, route);
    return;
  }
  const Distances hops = distances_to(target);
  std::uint64_t draw = hash(hash(std::uint64_t{from.value} << 32 | to.value) ^ flow);
  std::vector<Graph::edge_descriptor> nearer;
  std::vector<std::uint32_t> path;
  bool is_only = true;
  while (at != target) {
    const std::uint32_t left = hops.from(at);
    expects(left != kUnreached, "the switches are connected");
    nearer.clear();
    for (const auto edge : boost::make_iterator_range(boost::out_edges(at, switches)))
      if (hops.from(boost::target(edge, switches)) + 1 == left && works(fabric_.network_begin() + switches[edge].id))
        nearer.push_back(edge);
    is_only = is_only && nearer.size() == 1;
    const auto edge = nearer[draw % nearer.size()];
    draw = hash(draw);
    path.push_back(fabric_.network_begin() + switches[edge].id);
    add_link(path.back(), route);
    at = boost::target(edge, switches);
  }
  if (is_only) only_path_.emplace(ends, std::move(path));
}

std::optional<Route> Router::route(FabricGpu from, FabricGpu to, int nic, std::uint64_t flow) {
  const NodeGraph& node = fabric_.node();
  const FabricNode here = fabric_.node_of(from), there = fabric_.node_of(to);
  expects(from != to && std::max(here, there).number() < fabric_.nodes(), "a route joins two GPUs of the fabric");
  Route route;
  if (here == there) {
    add_inside(here, fabric_.device_of(from), fabric_.device_of(to), route);
    if (!route.links.empty()) return route;
  }
  if (here == there && !fabric_.has_network()) return std::nullopt;
  expects(nic >= 0 && nic < node.nics, "a flow between nodes takes a NIC of its node");
  const auto nics = find_nics(from, to, nic);
  if (!nics) return std::nullopt;
  const auto [leaves, arrives] = *nics;
  add_inside(here, fabric_.device_of(from), node.nic(leaves), route);
  add_link(fabric_.nic_link(here, leaves, true), route);
  add_network(from, to, fabric_.switch_of(here, leaves), fabric_.switch_of(there, arrives), flow, route);
  add_link(fabric_.nic_link(there, arrives, false), route);
  add_inside(there, node.nic(arrives), fabric_.device_of(to), route);
  return route;
}

Route Router::exit(FabricGpu gpu, int nic, bool out) {
  const NodeGraph& node = fabric_.node();
  const FabricNode here = fabric_.node_of(gpu);
  const DeviceId inner = fabric_.device_of(gpu), outer = node.nic(nic);
  expects(fabric_.has_network() && can_use(gpu, nic), "a GPU leaves its node through a NIC that it can use");
  Route route;
  if (out) add_inside(here, inner, outer, route);
  add_link(fabric_.nic_link(here, nic, out), route);
  if (!out) add_inside(here, outer, inner, route);
  return route;
}

std::vector<FabricGpu> gpus_beside(const Router& router, std::uint32_t link) {
  const Fabric& fabric = router.fabric();
  const NodeGraph& node = fabric.node();
  const std::uint32_t first_cable = fabric.nic_link(FabricNode{0}, 0, true);
  std::vector<DeviceId> ends;
  FabricNode at;
  if (link < first_cable) {
    at = {link / node.links};
    for_each_edge(node.graph, [&](auto edge) {
      if (node.graph[edge].id == link % node.links)
        ends = {boost::source(edge, node.graph), boost::target(edge, node.graph)};
    });
  } else if (link < fabric.network_begin()) {
    const std::uint32_t nic = (link - first_cable) / 2, nics = static_cast<std::uint32_t>(node.nics);
    at = {nic / nics};
    ends = {node.nic(static_cast<int>(nic % nics))};
  }
  const auto is_end = [&](DeviceId device) { return std::find(ends.begin(), ends.end(), device) != ends.end(); };
  std::vector<FabricGpu> gpus;
  for (int i = 0; i < node.gpus; ++i) {
    const FabricGpu gpu = fabric.gpu_at(at, i);
    const std::vector<int>& near = router.nics_near(gpu);
    if (is_end(node.gpu(i)) || std::any_of(near.begin(), near.end(), [&](int nic) { return is_end(node.nic(nic)); }))
      gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace foretoken::net

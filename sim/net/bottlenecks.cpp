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

}  // namespace

std::vector<bool> possible_bottlenecks(const Fabric& fabric, const std::vector<double>& capacity) {
  Graph graph;
  fabric.copy_whole(graph);
  // By device: the capacity that comes in from below, and the capacity that leaves it downwards. For a NIC: from and to
  // the network.
  std::vector<double> from_below(boost::num_vertices(graph), 0), downwards(boost::num_vertices(graph), 0);
  for_each_edge(graph, [&](auto edge) {
    const DeviceId a = boost::source(edge, graph), b = boost::target(edge, graph);
    const int here = tier(graph[a]), there = tier(graph[b]);
    if (here == 0 || there == 0) return;
    if (here < there) from_below[b] += capacity[graph[edge].id];
    if (here > there) downwards[a] += capacity[graph[edge].id];
  });
  std::vector<double> network_out(boost::num_vertices(graph), 0), network_in(boost::num_vertices(graph), 0);
  for_each_edge(graph, [&](auto edge) {
    const DeviceId a = boost::source(edge, graph), b = boost::target(edge, graph);
    if (tier(graph[a]) == 1 && tier(graph[b]) == 2) network_out[a] += capacity[graph[edge].id];
    if (tier(graph[a]) == 2 && tier(graph[b]) == 1) network_in[b] += capacity[graph[edge].id];
  });
  std::vector<bool> possible(capacity.size(), true);
  for_each_edge(graph, [&](auto edge) {
    const DeviceId a = boost::source(edge, graph), b = boost::target(edge, graph);
    const int here = tier(graph[a]), there = tier(graph[b]);
    const double own = capacity[graph[edge].id] * (1 + 1e-9);
    double most = 0;  // capacity that the other links let through
    if (here >= 2 && there > here)
      most = from_below[a];
    else if (there >= 2 && here > there)
      most = downwards[b];
    else if (here == 0 && there == 1)
      most = network_out[b];
    else if (here == 1 && there == 0)
      most = network_in[a];
    else
      return;
    if (most > 0 && most <= own) possible[graph[edge].id] = false;
  });
  return possible;
}

}  // namespace foretoken::net

// Times of NCCL's algorithms: bytes over rates, link by link.
#include "sim/cost/collectives/nccl_law.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::cost {
namespace {

// Bytes on the busiest links, in one direction.
struct Loads {
  double gpu = 0;   ///< through the NVLink of the busiest GPU
  double node = 0;  ///< through the NICs of the busiest node
};

// Edges of NCCL's two trees at the busiest node, each with half of the payload. Two nodes: one edge in each tree. From
// four nodes on: a parent and two children in one tree, a parent in the other.
double tree_crossings(int nodes) { return nodes == 1 ? 0 : nodes == 2 ? 1 : nodes == 3 ? 1.5 : 2; }

Loads ring_loads(double sent, const GroupShape& group) {
  return {group.ranks_per_node > 1 ? sent : 0, group.nodes > 1 ? sent : 0};
}

// Every node has a chain, up and down. In a single node the chains of all channels are alike. Between nodes every
// member begins a channel's chain in turn. A first child arrives at the second member of the chain, which adds a hop in
// one of the trees.
Loads tree_loads(double payload, const GroupShape& group) {
  if (group.nodes == 1) return {(group.ranks > 2 ? 2 : 1) * payload, 0};
  const double local = group.ranks_per_node, chain = 2 * (local - 1), first_child = group.nodes > 2 ? 1 : 0;
  return {local > 1 ? (chain + first_child) / local * payload : 0, tree_crossings(group.nodes) * payload};
}

// Every GPU sends all to the switch and gets all back. It also does so with its own share, as head of a channel.
Loads switch_loads(CollectiveKind kind, double payload, const GroupShape& group) {
  const double local = group.ranks_per_node;
  const bool all = kind == CollectiveKind::kAllReduce;
  return {(all ? 1 + 1 / local : 1) * payload, tree_crossings(group.nodes) * payload};
}

Loads exchange_loads(double payload, const GroupShape& group) {
  const double n = group.ranks, local = group.ranks_per_node;
  return {(local - 1) / n * payload, local * (n - local) / n * payload};
}

// Rate of a node's NICs for one group: their share, at most the rate of its GPUs' PCIe links.
double network_rate(const NodeLinks& links, const GroupShape& group, const NcclWire& wire) {
  NodeLinks reached = links;
  const BytesPerSecond port = std::max(links.pcie_per_gpu, links.nic);
  reached.nic = std::min(links.nic, wire.pcie * port);
  const double gpus = static_cast<double>(group.ranks_per_node);
  return std::min(network_share(reached, group.ranks_per_node, group.groups_per_node).value(),
                  gpus * wire.pcie * links.pcie_per_gpu.value());
}

double rounds(CollectiveKind kind, int ranks) {
  return kind == CollectiveKind::kAllReduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

// Bytes that a rank sends for every byte of the volume: one more for its own share, a copy in its memory.
double with_own_copy(const CollectiveShape& shape, const NcclWire& wire) {
  if (shape.group.nodes > 1 && shape.kind != CollectiveKind::kAllToAll) return 1;
  return 1 + wire.fitted.own_copy / rounds(shape.kind, shape.group.ranks);
}

// A collective as NCCL runs it.
struct Traffic {
  Seconds latency;
  Loads loads;
  double nvlink_part = 1;  ///< of what one-to-one traffic reaches
};

Traffic exchange_traffic(const CollectiveShape& shape, const NcclSystem& system, const NcclWire& wire) {
  const MessagePath path = shape.group.nodes > 1 ? MessagePath::kNetwork : MessagePath::kNvlink;
  return {.latency = nccl_message_latency(system.tuning, path),
          .loads = exchange_loads(with_own_copy(shape, wire) * shape.payload.value(), shape.group)};
}

NcclOption option_of(const CollectiveShape& shape, const NodeLinks& links, const NcclSystem& system,
                     const NcclSettings& settings) {
  const GroupShape& group = shape.group;
  const CollectiveKind kind = shape.kind == CollectiveKind::kReduce ? CollectiveKind::kBroadcast : shape.kind;
  const NcclPlatform platform = nccl_platform(system.architecture, links, /*nvlink_switch=*/true, group.nodes,
                                              group.ranks_per_node, system.tuning);
  return nccl_choice(shape.payload, kind, group.ranks, group.nodes, platform, system.tuning, settings).option;
}

Traffic traffic_of(const CollectiveShape& shape, const NcclOption& option, const NcclWire& wire) {
  const double payload = shape.payload.value(), on_wire = wire_bytes_per_byte(option.protocol);
  const Seconds latency = microseconds(option.latency_us);
  switch (option.algorithm) {
    case NcclAlgorithm::kRing:
    case NcclAlgorithm::kPat:
      return {latency, ring_loads(on_wire * with_own_copy(shape, wire) * ring_bytes(shape).value(), shape.group)};
    case NcclAlgorithm::kTree:
      return {latency, tree_loads(on_wire * payload, shape.group)};
    case NcclAlgorithm::kNvls:
    case NcclAlgorithm::kNvlsTree:
      return {latency, switch_loads(shape.kind, payload, shape.group), wire.multicast};
  }
  contract_broken("every algorithm has its loads", __FILE__, __LINE__);
}

}  // namespace

Seconds nccl_time(const CollectiveShape& shape, const NodeLinks& links, const NcclSystem& system,
                  const NcclSettings& settings) {
  const GroupShape& group = shape.group;
  expects(group.ranks >= 2, "a collective has at least two ranks");
  const NcclWire wire = nccl_wire(system.architecture, system.tuning);
  const Traffic traffic = shape.kind == CollectiveKind::kAllToAll
                              ? exchange_traffic(shape, system, wire)
                              : traffic_of(shape, option_of(shape, links, system, settings), wire);

  const double nvlink = wire.nvlink * links.nvlink_per_gpu.value() * traffic.nvlink_part;
  double busiest = traffic.loads.gpu == 0 ? 0 : traffic.loads.gpu / nvlink;
  if (group.nodes > 1) busiest = std::max(busiest, traffic.loads.node / network_rate(links, group, wire));
  const double fill = group.nodes == 1 ? wire.fitted.fill_inside : wire.fitted.fill_between;
  return traffic.latency + Seconds(fill * std::sqrt(ring_bytes(shape).value()) + busiest);
}

}  // namespace foretoken::cost

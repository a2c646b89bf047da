// Turns NCCL's algorithms into flows. A channel is one flow over all its hops, because it is a pipeline: it moves at
// the rate of its slowest link. Channels with equal routes become one flow with all their bytes (pipelines.h).
#include "sim/ranks/nccl_flows.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/des/engine.h"

namespace foretoken::ranks {
namespace {

using cost::NcclAlgorithm;

int size_of(const net::Members& members) {
  std::size_t size = 0;
  for (const auto& node : members) size += node.size();
  return static_cast<int>(size);
}

// Returns the bytes that each rank of a ring sends. Source: nccl-tests, doc/PERFORMANCE.md.
Bytes ring_volume(CollectiveKind kind, Bytes payload, int ranks) {
  const double share = (ranks - 1.0) / ranks;
  if (kind == CollectiveKind::kAllReduce) return 2 * share * payload;
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ? payload : share * payload;
}

// Counts the rounds of sends of a rank. The copy of its own share runs beside one of them.
double rounds_of(CollectiveKind kind, int ranks) {
  return kind == CollectiveKind::kAllReduce ? 2.0 * (ranks - 1) : ranks - 1.0;
}

}  // namespace

NcclLowering::NcclLowering(Nccl nccl, const NodeLinks& links, Wires& wires, des::TaskGraph& graph)
    : nccl_(std::move(nccl)),
      wire_(cost::nccl_wire(nccl_.architecture, nccl_.tuning)),
      links_(links),
      wires_(wires),
      graph_(graph) {
  if (nccl_.fitted) wire_.fitted = *nccl_.fitted;
}

LinkShares NcclLowering::shares_of(cost::NcclArchitecture architecture, const cost::NcclTuning& tuning) {
  const cost::NcclWire wire = cost::nccl_wire(architecture, tuning);
  return {.nvlink = wire.nvlink, .pcie = wire.pcie};
}

cost::NcclPlatform NcclLowering::platform_of(const net::Members& members) const {
  bool switched = true;
  for (const std::vector<net::FabricGpu>& node : members)
    switched = switched && std::ranges::all_of(node, [&](net::FabricGpu gpu) { return wires_.reaches_switch(gpu); });
  const int nodes = static_cast<int>(members.size());
  return cost::nccl_platform(nccl_.architecture, links_, switched, nodes, size_of(members) / nodes, nccl_.tuning);
}

NcclFlows NcclLowering::collective(CollectiveKind kind, Bytes payload, std::span<const net::FabricGpu> gpus) {
  expects(gpus.size() >= 2, "a collective has at least two GPUs");
  const net::Members members = net::members_of(gpus, wires_.fabric().node().gpus);
  const int ranks = size_of(members), nodes = static_cast<int>(members.size());
  const Bytes volume = ring_volume(kind, payload, ranks);
  const Seconds fill((nodes == 1 ? wire_.fitted.fill_inside : wire_.fitted.fill_between) * std::sqrt(volume.value()));
  if (kind == CollectiveKind::kAllToAll) return {message_latency(nodes > 1) + fill, all_to_all(payload, members)};
  const cost::NcclOption option = choice(kind, payload, members);
  const bool in_switch = option.algorithm == NcclAlgorithm::kNvls || option.algorithm == NcclAlgorithm::kNvlsTree;
  const double wire = in_switch ? 1 : cost::wire_bytes_per_byte(option.protocol);
  const double own = nodes == 1 ? 1 + wire_.fitted.own_copy / rounds_of(kind, ranks) : 1;
  NcclFlows flows{microseconds(option.latency_us) + fill, {}};
  for (const Pipeline& pipeline : pipelines(option.algorithm, {kind, wire * own * volume, wire * payload}, members))
    flows.legs.push_back(wires_.leg(pipeline));
  return flows;
}

std::vector<Pipeline> NcclLowering::pipelines(NcclAlgorithm algorithm, const Volume& volume,
                                              const net::Members& members) const {
  const int near = members.size() == 1 ? 1 : wires_.nics_near(members.front().front());
  return pipelines_of(algorithm, volume, {members, near, wire_.multicast});
}

// Returns NCCL's choice. It reduces to one rank by the routes of a broadcast, reversed.
cost::NcclOption NcclLowering::choice(CollectiveKind kind, Bytes payload, const net::Members& members) const {
  const CollectiveKind chosen = kind == CollectiveKind::kReduce ? CollectiveKind::kBroadcast : kind;
  return cost::nccl_choice(payload, chosen, size_of(members), static_cast<int>(members.size()), platform_of(members),
                           nccl_.tuning, nccl_.settings)
      .option;
}

std::vector<Leg> NcclLowering::all_to_all(Bytes payload, const net::Members& members) {
  const int ranks = size_of(members);
  const double own = 1 + wire_.fitted.own_copy / rounds_of(CollectiveKind::kAllToAll, ranks);
  const BytesPerSecond most = message_rate(members);
  std::vector<Leg> legs;
  for (const auto& from_node : members)
    for (const net::FabricGpu from : from_node)
      for (const auto& to_node : members)
        for (const net::FabricGpu to : to_node)
          if (from != to) add_message(from, to, own * payload / ranks, most, legs);
  return legs;
}

BytesPerSecond NcclLowering::message_rate(const net::Members& members) const {
  const double near = std::max(1.0, static_cast<double>(links_.nics) / links_.gpus);
  const int channels = nccl_.message_channels.value_or(
      cost::nccl_message_channels(nccl_.tuning, platform_of(members), size_of(members), near * links_.nic));
  return static_cast<double>(channels) * wire_.message_channel;
}

Seconds NcclLowering::message_latency(bool crosses) const {
  using enum cost::MessagePath;
  return cost::nccl_message_latency(nccl_.tuning, crosses                             ? kNetwork
                                                  : links_.nvlink_per_gpu.value() > 0 ? kNvlink
                                                                                      : kPcie);
}

NcclFlows NcclLowering::messages(Bytes payload, std::span<const net::FabricGpu> gpus,
                                 std::span<const std::pair<net::FabricGpu, net::FabricGpu>> pairs) {
  NcclFlows flows{};
  const BytesPerSecond most = message_rate(net::members_of(gpus, wires_.fabric().node().gpus));
  bool crosses = false;
  for (const auto& [from, to] : pairs) {
    crosses = crosses || wires_.node_of(from) != wires_.node_of(to);
    add_message(from, to, payload, most, flows.legs);
  }
  const double fill = crosses ? wire_.fitted.fill_between : wire_.fitted.fill_inside;
  flows.latency = message_latency(crosses) + Seconds(fill * std::sqrt(payload.value()));
  return flows;
}

void NcclLowering::add_message(net::FabricGpu from, net::FabricGpu to, Bytes bytes, BytesPerSecond most,
                               std::vector<Leg>& legs) {
  const bool inside = wires_.node_of(from) == wires_.node_of(to);
  const int nics = inside ? 1 : wires_.nics_near(from);
  for (int which = 0; which < nics; ++which) {
    Leg& leg = legs.emplace_back(Leg{{}, bytes / nics});
    wires_.take({from, to, from}, which, leg.route);
    if (!inside) leg.route.push_back(graph_.add_link(most / nics));
  }
}

namespace {

std::vector<net::FabricGpu> first_gpus(int ranks_a_node, int nodes, int gpus_a_node) {
  std::vector<net::FabricGpu> gpus;
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < ranks_a_node; ++i) gpus.push_back(id_of<net::FabricGpu>(node * gpus_a_node + i));
  return gpus;
}

// Builds flows with `what`, and runs them without other traffic.
template <class What>
Seconds time_of(const net::Cluster& cluster, int nodes, const Nccl& nccl, What what) {
  des::TaskGraph graph;
  Wires wires(cluster, nodes * cluster.links.gpus, {}, NcclLowering::shares_of(nccl.architecture, nccl.tuning), graph);
  NcclLowering lowering(nccl, cluster.links, wires, graph);
  const NcclFlows flows = what(lowering);
  for (const Leg& leg : flows.legs) graph.add_flow({}, leg.bytes, leg.route, des::to_duration(flows.latency));
  return des::to_seconds(des::run(graph).makespan - des::Instant{});
}

}  // namespace

Seconds nccl_flow_time(CollectiveKind kind, Bytes payload, int ranks_a_node, int nodes, const net::Cluster& cluster,
                       const Nccl& nccl) {
  const std::vector<net::FabricGpu> gpus = first_gpus(ranks_a_node, nodes, cluster.links.gpus);
  return time_of(cluster, nodes, nccl,
                 [&](NcclLowering& lowering) { return lowering.collective(kind, payload, gpus); });
}

Seconds nccl_shift_time(Bytes payload, int ranks_a_node, int nodes, const net::Cluster& cluster, const Nccl& nccl) {
  const std::vector<net::FabricGpu> gpus = first_gpus(ranks_a_node, nodes, cluster.links.gpus);
  std::vector<std::pair<net::FabricGpu, net::FabricGpu>> pairs;
  for (std::size_t i = 0; i < gpus.size(); ++i) pairs.emplace_back(gpus[i], gpus[(i + 1) % gpus.size()]);
  return time_of(cluster, nodes, nccl, [&](NcclLowering& lowering) { return lowering.messages(payload, gpus, pairs); });
}

}  // namespace foretoken::ranks

// Lays the links and flows of a job's cluster.
//
// A flow carries wire bytes. These are the modelled time of its transfer without latency (step::transfer_of), times the
// rate that the cost model gives it under its usual traffic. Bytes, protocol overhead and the profile's measured
// efficiency stay in one place this way. An undisturbed flow takes exactly the modelled time. Shared, slow or
// oversubscribed links show as sharing.
#include "sim/ranks/wires.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "sim/base/check.h"
#include "sim/base/error.h"

namespace foretoken::ranks {
namespace {

double share_of(const net::Link& link, LinkShares shares) {
  switch (link.kind) {
    case net::LinkKind::kNvlink:
      return shares.nvlink;
    case net::LinkKind::kPcie:
      return shares.pcie;
    case net::LinkKind::kNetwork:
      return 1;
  }
  contract_broken("every kind of link has a share", __FILE__, __LINE__);
}

SlowLinks slow_links_of(const net::Fabric& fabric, const job::Imperfections& imperfections, NodeId first_node) {
  SlowLinks slow{.left = std::vector<double>(fabric.links().size(), 1), .parts = {}, .failed = {}};
  const auto add = [&](std::uint32_t link, double rate_factor, int part) {
    slow.left[link] *= rate_factor;
    if (rate_factor < 1) slow.parts.add(link, part);
    if (rate_factor > 0) return;
    slow.failed.resize(slow.left.size(), false);
    slow.failed[link] = true;
  };
  int part = 0;
  for (const job::SlowNic& nic : imperfections.slow_nics) {
    const int node = nic.node.number() - first_node.number();
    if (node >= 0 && node < fabric.nodes())
      for (const bool out : {true, false})
        add(fabric.nic_link(id_of<net::FabricNode>(node), nic.nic, out), nic.rate_factor, part);
    ++part;
  }
  for (const job::SlowLink& cable : imperfections.slow_links) {
    for (const std::uint32_t link : net::links_between(fabric, cable.from, cable.to))
      add(link, cable.rate_factor, part);
    ++part;
  }
  return slow;
}

[[noreturn]] void no_way(const std::string& what) {
  throw ConfigError({{"", "/imperfections", "expected a way " + what + ": too many NICs or links have failed"}});
}

std::vector<SwitchLinks> switch_links_of(const net::NodeGraph& node) {
  std::vector<SwitchLinks> links(static_cast<std::size_t>(node.gpus));
  net::for_each_edge(node.graph, [&](auto edge) {
    const net::DeviceId from = boost::source(edge, node.graph), to = boost::target(edge, node.graph);
    const auto is_switch = [&](net::DeviceId device) { return node.graph[device].kind == net::DeviceKind::kNvSwitch; };
    if (is_switch(to)) links[from].to = node.graph[edge].id;
    if (is_switch(from)) links[to].from = node.graph[edge].id;
  });
  return links;
}

}  // namespace

Wires::Wires(const net::Cluster& cluster, int gpus, const job::Imperfections& imperfections, LinkShares shares,
             des::TaskGraph& graph, Side side)
    : graph_(graph),
      side_(side),
      fabric_(cluster, (gpus + cluster.links.gpus - 1) / cluster.links.gpus, side.joined),
      slow_(slow_links_of(fabric_, imperfections, side.first_node)),
      router_(fabric_, slow_.failed) {
  if (!slow_.failed.empty()) sound_.emplace(fabric_);
  std::vector<double> left;
  for (const net::Link& link : fabric_.links()) {
    capacity_.push_back(share_of(link, shares) * link.capacity.value());
    left.push_back(capacity_.back() * slow_.left[link.id]);
  }
  link_.resize(capacity_.size());
  switch_ = switch_links_of(fabric_.node());
  binding_ = net::possible_bottlenecks(fabric_, left);
}

void Wires::take_link(std::uint32_t id, std::vector<des::LinkId>& route) {
  if (!binding_[id]) return;
  std::optional<des::LinkId>& link = link_[id];
  if (!link) {
    link = graph_.add_link(BytesPerSecond(capacity_[id] * slow_.left[id]));
    for (const int part : slow_.parts.of(id)) parts_.add(link->value, part);
    ids_.resize(link->value + 1);  // other code may add links, too
    ids_[link->value] = id;
  }
  route.push_back(*link);
}

const std::vector<int>& Wires::working_nics(net::FabricGpu gpu) const {
  const std::vector<int>& nics = router_.nics_near(gpu);
  if (nics.empty()) no_way(fmt::format("from every GPU to the network, found none from {}", name_of(gpu)));
  return nics;
}

std::string Wires::name_of(net::FabricGpu gpu) const {
  return fmt::format("GPU {} (node {})", in_job(gpu, side_).number(),
                     side_.first_node.number() + node_of(gpu).number());
}

net::Route Wires::way(net::FabricGpu from, net::FabricGpu to, int nic) {
  std::optional<net::Route> route = router_.route(from, to, nic);
  if (!route) no_way(fmt::format("between all GPUs, found none from {} to {}", name_of(from), name_of(to)));
  return *std::move(route);
}

net::Route Wires::sound_way(net::FabricGpu from, net::FabricGpu to, int nic) {
  std::optional<net::Route> route = sound_router().route(from, to, nic);
  expects(route.has_value(), "where nothing has failed all GPUs are connected");
  return *std::move(route);
}

void Wires::take(const net::Hop& hop, int which, std::vector<des::LinkId>& route) {
  int nic = 0;
  if (node_of(hop.from) != node_of(hop.to)) {
    const std::vector<int>& nics = working_nics(hop.via);
    nic = nics[static_cast<std::size_t>(which) % nics.size()];
  }
  for (const std::uint32_t id : way(hop.from, hop.to, nic).links) take_link(id, route);
}

void Wires::take_exit(net::FabricGpu gpu, int which, bool out, std::vector<des::LinkId>& route) {
  const std::vector<int>& nics = working_nics(gpu);
  const int nic = nics[static_cast<std::size_t>(which) % nics.size()];
  for (const std::uint32_t id : router_.exit(gpu, nic, out).links) take_link(id, route);
}

BytesPerSecond Wires::exit_rate(net::FabricGpu gpu, int flows, BytesPerSecond rate) {
  const std::vector<int>& nics = sound_router().nics_near(gpu);
  double least = rate.value();
  for (const bool out : {true, false}) {
    std::map<std::uint32_t, int> crossings;
    for (int k = 0; k < flows; ++k)
      for (const std::uint32_t id :
           sound_router().exit(gpu, nics[static_cast<std::size_t>(k) % nics.size()], out).links)
        if (fabric_.links()[id].kind != net::LinkKind::kNetwork) ++crossings[id];
    for (const auto& [id, times] : crossings) least = std::min(least, capacity_[id] * flows / times);
  }
  return BytesPerSecond(least);
}

std::uint32_t Wires::switch_link(net::FabricGpu gpu, bool out) const {
  const SwitchLinks& links = switch_[static_cast<std::size_t>(fabric_.place_in_node(gpu))];
  const std::optional<std::uint32_t>& link = out ? links.to : links.from;
  expects(link.has_value(), "a switch joins the GPUs of a node");
  return fabric_.node_link(node_of(gpu), *link);
}

bool Wires::reaches_switch(net::FabricGpu gpu) const {
  const SwitchLinks& links = switch_[static_cast<std::size_t>(fabric_.place_in_node(gpu))];
  return links.to && links.from && slow_.left[switch_link(gpu, true)] > 0 && slow_.left[switch_link(gpu, false)] > 0;
}

Leg Wires::leg(const Pipeline& pipeline) {
  Leg leg{{}, pipeline.bytes};
  for (const SwitchHop& hop : pipeline.in_switch) take_link(switch_link(hop.gpu, hop.out), leg.route);
  for (const net::Hop& hop : pipeline.hops) take(hop, pipeline.nic, leg.route);
  return leg;
}

BytesPerSecond Wires::least_capacity(net::FabricGpu from, net::FabricGpu to) {
  double least = 0;
  for (const std::uint32_t id : sound_way(from, to).links)
    least = least == 0 ? capacity_[id] : std::min(least, capacity_[id]);
  return BytesPerSecond(least);
}

std::vector<Leg> Wires::message(net::FabricGpu from, net::FabricGpu to, Seconds transfer, BytesPerSecond rate) {
  const bool inside = node_of(from) == node_of(to);
  const int nics = inside ? 1 : nics_near(from);
  const BytesPerSecond alone = inside ? least_capacity(from, to) : message_rate(from, to, rate);
  std::vector<Leg> legs;
  for (int k = 0; k < nics; ++k)
    take({from, to, from}, k, legs.emplace_back(Leg{{}, Bytes(transfer.value() * alone.value() / nics)}).route);
  return legs;
}

BytesPerSecond Wires::message_rate(net::FabricGpu from, net::FabricGpu to, BytesPerSecond rate) {
  const auto [found, is_new] =
      message_rates_.try_emplace({fabric_.place_in_node(from), fabric_.place_in_node(to), rate});
  if (is_new) {
    const auto nics = static_cast<std::size_t>(nics_near(from));
    found->second = rate_within_nodes(std::vector<std::vector<net::Hop>>(nics, {{from, to, from}}), {rate, true});
  }
  return found->second;
}

std::vector<Leg> Wires::ring(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone) {
  expects(gpus.size() >= 2, "a ring has at least two GPUs");
  const net::Members members = net::members_of(gpus, fabric_.node().gpus);
  std::vector<Leg> legs;
  if (members.size() == 1) {
    for (const net::Hop& hop : net::ring_hops(members, 0)) {
      const BytesPerSecond local = least_capacity(hop.from, hop.to);
      take(hop, 0, legs.emplace_back(Leg{{}, Bytes(transfer.value() * local.value())}).route);
    }
    return legs;
  }
  const int near = nics_near(gpus.front());
  const std::vector<std::vector<net::Hop>> channels = channels_over(members);
  const Bytes bytes(transfer.value() * rate_within_nodes(channels, alone).value() /
                    static_cast<double>(channels.size()));
  for (std::size_t channel = 0; channel < channels.size(); ++channel)
    for (const net::Hop& hop : channels[channel])
      take(hop, static_cast<int>(channel) % near, legs.emplace_back(Leg{{}, bytes}).route);
  return legs;
}

std::vector<std::vector<net::Hop>> Wires::channels_over(const net::Members& members) const {
  const int near = members.size() == 1 ? 1 : nics_near(members.front().front());
  std::vector<std::vector<net::Hop>> channels;
  for (int channel = 0; channel < channels_of({members, near}); ++channel)
    channels.push_back(net::ring_hops(members, channel / near));
  return channels;
}

void Wires::add_links_inside(const net::Hop& hop, int nic, std::vector<std::uint32_t>& links) {
  net::Router& router = sound_router();
  const auto add = [&](const net::Route& route) {
    for (const std::uint32_t id : route.links)
      if (fabric_.links()[id].kind != net::LinkKind::kNetwork) links.push_back(id);
  };
  if (node_of(hop.from) == node_of(hop.to)) {
    add(sound_way(hop.from, hop.to));
  } else {
    add(router.exit(hop.from, nic, /*out=*/true));
    add(router.exit(hop.to, nic, /*out=*/false));
  }
}

BytesPerSecond Wires::rate_within_nodes(std::span<const std::vector<net::Hop>> channels, Alone alone) {
  if (!alone.across_nodes) return alone.rate;
  std::vector<std::uint32_t> crossed;
  for (std::size_t channel = 0; channel < channels.size(); ++channel)
    for (const net::Hop& hop : channels[channel]) {
      const std::vector<int>& nics = sound_router().nics_near(hop.via);
      add_links_inside(hop, nics[channel % nics.size()], crossed);
    }
  std::sort(crossed.begin(), crossed.end());
  double least = alone.rate.value();
  for (auto first = crossed.begin(), next = first; first != crossed.end(); first = next) {
    next = std::upper_bound(first, crossed.end(), *first);
    least =
        std::min(least, capacity_[*first] * static_cast<double>(channels.size()) / static_cast<double>(next - first));
  }
  return BytesPerSecond(least);
}

BytesPerSecond Wires::rate_alone(std::span<const net::Hop> hops) {
  std::map<std::uint32_t, int> crossings;
  for (const net::Hop& hop : hops)
    for (const std::uint32_t id : sound_way(hop.from, hop.to).links) ++crossings[id];
  double rate = std::numeric_limits<double>::infinity();
  for (const auto& [id, times] : crossings) rate = std::min(rate, capacity_[id] / times);
  return BytesPerSecond(rate);
}

BytesPerSecond Wires::ring_rate(const std::vector<net::FabricGpu>& gpus, std::span<const net::Hop> hops) {
  std::vector<int> places;
  for (const net::FabricGpu gpu : gpus) places.push_back(fabric_.place_in_node(gpu));
  if (const auto found = ring_rates_.find(places); found != ring_rates_.end()) return found->second;
  const BytesPerSecond rate = rate_alone(hops);
  const auto leaves_the_node = [&](std::uint32_t link) {
    return fabric_.links()[link].kind == net::LinkKind::kNetwork;
  };
  if (std::ranges::none_of(hops, [&](const net::Hop& hop) {
        return std::ranges::any_of(sound_way(hop.from, hop.to).links, leaves_the_node);
      }))
    ring_rates_.emplace(std::move(places), rate);
  return rate;
}

std::vector<Leg> Wires::pipelined_ring(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone) {
  const net::Members members = net::members_of(gpus, fabric_.node().gpus);
  const bool inside = members.size() == 1;
  const int near = inside ? 1 : nics_near(gpus.front());
  const std::vector<std::vector<net::Hop>> channels = channels_over(members);
  const double all = inside ? 0 : rate_within_nodes(channels, alone).value();
  std::vector<Leg> legs;
  for (std::size_t channel = 0; channel < channels.size(); ++channel) {
    const std::vector<net::Hop>& hops = channels[channel];
    const double share = inside ? ring_rate(members.front(), hops).value() : all / static_cast<double>(channels.size());
    Leg& leg = legs.emplace_back(Leg{{}, Bytes(transfer.value() * share)});
    for (const net::Hop& hop : hops) take(hop, static_cast<int>(channel) % near, leg.route);
  }
  return legs;
}

// Inside nodes every link passes all bytes that cross it. The NICs of a node pass theirs together.
Seconds Wires::time_alone(std::span<const Pipeline> pipelines, Alone alone) {
  std::map<std::uint32_t, double> inside;     // bytes by link
  std::map<net::FabricNode, double> out, in;  // bytes by node
  std::vector<std::uint32_t> crossed;
  for (const Pipeline& pipeline : pipelines) {
    const double bytes = pipeline.bytes.value();
    for (const SwitchHop& hop : pipeline.in_switch) inside[switch_link(hop.gpu, hop.out)] += bytes;
    for (const net::Hop& hop : pipeline.hops) {
      int nic = 0;
      if (node_of(hop.from) != node_of(hop.to)) {
        const std::vector<int>& nics = sound_router().nics_near(hop.via);
        nic = nics[static_cast<std::size_t>(pipeline.nic) % nics.size()];
        out[node_of(hop.from)] += bytes;
        in[node_of(hop.to)] += bytes;
      }
      crossed.clear();
      add_links_inside(hop, nic, crossed);
      for (const std::uint32_t id : crossed) inside[id] += bytes;
    }
  }
  double longest = 0;
  for (const auto& [link, bytes] : inside) longest = std::max(longest, bytes / capacity_[link]);
  for (const auto* through : {&out, &in})
    for (const auto& [node, bytes] : *through) longest = std::max(longest, bytes / alone.rate.value());
  expects(longest > 0, "pipelines move bytes");
  return Seconds(longest);
}

}  // namespace foretoken::ranks

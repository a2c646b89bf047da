// Links and flows of a job's cluster.
#include "sim/lowering/wires.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::lowering {
namespace {

int nodes_of(const Scenario& scenario) {
  const int domain = scenario.cluster.links.gpus;
  return (scenario.gpus + domain - 1) / domain;
}

}  // namespace

Wires::Wires(const Scenario& scenario, des::TaskGraph& graph)
    : graph_(graph), fabric_(scenario.cluster, nodes_of(scenario)), router_(fabric_) {
  factor_.assign(fabric_.links().size(), 1);
  link_.resize(fabric_.links().size());
  if (fabric_.nodes() > 1)
    for (const SlowNic& slow : scenario.imperfections.slow_nics)
      for (const bool out : {true, false}) factor_[fabric_.nic_link(slow.node, slow.nic, out)] *= slow.rate_factor;
  std::vector<double> capacity;
  for (const net::Link& link : fabric_.links()) capacity.push_back(link.capacity.value() * factor_[link.id]);
  binding_ = net::possible_bottlenecks(fabric_, capacity);
}

Leg Wires::leg(int from, int to, int nic, Bytes bytes) {
  Leg leg{{}, bytes};
  for (const std::uint32_t id : router_.route(from, to, nic).links) {
    if (!binding_[id]) continue;
    std::optional<des::LinkId>& link = link_[id];
    if (!link) link = graph_.add_link(factor_[id] * fabric_.links()[id].capacity);
    leg.route.push_back(*link);
  }
  return leg;
}

Leg Wires::local_leg(int from, int to, Seconds transfer) {
  BytesPerSecond least(0);
  for (const std::uint32_t id : router_.route(from, to, 0).links) {
    const BytesPerSecond capacity = fabric_.links()[id].capacity;
    least = least.value() == 0 ? capacity : std::min(least, capacity);
  }
  return leg(from, to, 0, Bytes(transfer.value() * least.value()));
}

std::vector<Leg> Wires::message(int from, int to, Seconds transfer, BytesPerSecond rate) {
  if (node_of(from) == node_of(to)) return {local_leg(from, to, transfer)};
  const int nics = router_.nics_near(from % fabric_.node().gpus);
  std::vector<Leg> legs;
  for (int k = 0; k < nics; ++k)
    legs.push_back(leg(from, to, router_.nearest_nic(from, k), Bytes(transfer.value() * rate.value() / nics)));
  return legs;
}

std::vector<Leg> Wires::ring(std::span<const int> gpus, Seconds transfer, BytesPerSecond rate) {
  expects(gpus.size() >= 2, "a ring has at least two GPUs");
  std::vector<std::span<const int>> nodes;  // the members on each node
  for (std::size_t begin = 0, end = 0; begin < gpus.size(); begin = end) {
    while (end < gpus.size() && node_of(gpus[end]) == node_of(gpus[begin])) ++end;
    nodes.push_back(gpus.subspan(begin, end - begin));
  }
  std::vector<Leg> legs;
  if (nodes.size() == 1) {
    for (std::size_t i = 0; i < gpus.size(); ++i)
      legs.push_back(local_leg(gpus[i], gpus[(i + 1) % gpus.size()], transfer));
    return legs;
  }
  const std::size_t members =
      std::min_element(nodes.begin(), nodes.end(), [](auto a, auto b) { return a.size() < b.size(); })->size();
  const auto near = static_cast<std::size_t>(router_.nics_near(gpus.front() % fabric_.node().gpus));
  const std::size_t channels = members * near;
  const Bytes bytes(transfer.value() * rate.value() / static_cast<double>(channels));
  for (std::size_t channel = 0; channel < channels; ++channel) {
    // On every node the ring enters and leaves at member e and passes the others in between.
    const std::size_t e = channel / near;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::span<const int> here = nodes[n], next = nodes[(n + 1) % nodes.size()];
      const std::size_t count = here.size();
      for (std::size_t i = 1; i < count; ++i)  // enters at e + 1, ends at e
        legs.push_back(leg(here[(e + i) % count], here[(e + i + 1) % count], 0, bytes));
      const int exit = here[e], entry = next[(e + 1) % next.size()];
      legs.push_back(leg(exit, entry, router_.nearest_nic(exit, static_cast<int>(channel % near)), bytes));
    }
  }
  return legs;
}

}  // namespace foretoken::lowering

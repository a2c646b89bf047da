// Computes times of transfers, and shares links among them.
#include "sim/serve/run/transfer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/des/flows/max_min.h"
#include "sim/serve/passes.h"

namespace foretoken::serve {
namespace {

bool crosses_nodes(const Service& service) {
  const auto& [prefill, decode] = *service.disaggregated;
  return prefill.gpus + decode.gpus > service.cluster.links.gpus;
}

int side_by_side(const Service& service) {
  const auto& [prefill, decode] = *service.disaggregated;
  return std::min(prefill.degrees.gpus(), decode.degrees.gpus());
}

/// Returns the rate at which so many GPUs send together. They fill one node after another.
BytesPerSecond rate_of(const NodeLinks& links, int gpus, bool crosses) {
  if (crosses) return real(gpus) * cost::network_share(links, 1, std::min(gpus, links.gpus));
  return real(gpus) * (links.nvlink_per_gpu.value() > 0 ? links.nvlink_per_gpu : links.pcie_per_gpu);
}

}  // namespace

Seconds transfer_time(const Service& service, std::int64_t tokens) {
  expects(service.disaggregated.has_value(), "only disaggregated services move caches");
  // All bytes of a cache once, whatever ranks hold copies.
  const double all = real(tokens) * real(service.model.layers) * layer_cache_bytes(service, 1);
  const int senders = side_by_side(service);
  const PointToPointShape message{.payload = Bytes(all / senders),
                                  .crosses_nodes = crosses_nodes(service),
                                  .senders_per_node = std::min(senders, service.cluster.links.gpus)};
  return cost::point_to_point_time(message, service.cluster.links, service.profile);
}

Transfers::Transfers(const Service& service) {
  expects(service.disaggregated.has_value(), "only disaggregated services move caches");
  const bool crosses = crosses_nodes(service);
  alone_ = rate_of(service.cluster.links, side_by_side(service), crosses);
  add_side(service, service.disaggregated->prefill, crosses, from_);
  add_side(service, service.disaggregated->decode, crosses, to_);
  waiting_.resize(from_.size());
}

des::LinkId Transfers::add_link(BytesPerSecond capacity) {
  capacities_.push_back(capacity);
  return id_of<des::LinkId>(static_cast<int>(capacities_.size()) - 1);
}

// Instances stand one after another on the nodes of their pool. Those within one node share its NICs.
void Transfers::add_side(const Service& service, const Pool& pool, bool crosses,
                         std::vector<std::vector<des::LinkId>>& routes) {
  const NodeLinks& links = service.cluster.links;
  const int gpus = pool.degrees.gpus();
  const bool shares_node = crosses && gpus < links.gpus;
  int last_node = -1;
  des::LinkId nics{};
  for (int instance = 0; instance < pool.instances(); ++instance) {
    routes.push_back({add_link(rate_of(links, gpus, crosses))});
    if (!shares_node) continue;
    const int node = instance * gpus / links.gpus;
    if (node != last_node) nics = add_link(rate_of(links, links.gpus, crosses));
    last_node = node;
    routes.back().push_back(nics);
  }
}

void Transfers::send(const Transfer& transfer, des::Instant now) {
  waiting_[transfer.sender].push_back(transfer);
  if (waiting_[transfer.sender].size() > 1) return;
  start_next(transfer.sender, now);
  settle(now);
}

void Transfers::start_next(std::size_t sender, des::Instant now) {
  if (waiting_[sender].empty()) return;
  const Transfer& transfer = waiting_[sender].front();
  flows_.push_back({.transfer = transfer, .left = transfer.alone.value(), .since = now});
}

// Ends change only with a flow's speed, so a transfer that shares nothing ends to the picosecond after its time alone.
void Transfers::settle(des::Instant now) {
  std::vector<BytesPerSecond> capacities = capacities_;
  des::Routes routes;
  std::vector<des::LinkId> route;
  for (const Flow& flow : flows_) {
    route = from_[flow.transfer.sender];
    route.insert(route.end(), to_[flow.transfer.receiver].begin(), to_[flow.transfer.receiver].end());
    capacities.push_back(alone_);
    route.push_back(id_of<des::LinkId>(static_cast<int>(capacities.size()) - 1));
    routes.add(route);
  }
  const std::vector<BytesPerSecond> rates = des::max_min(capacities, routes);
  for (std::size_t at = 0; at < flows_.size(); ++at) {
    Flow& flow = flows_[at];
    const double speed = std::min(1.0, rates[at] / alone_);
    if (speed == flow.speed) continue;
    flow.left = std::max(0.0, flow.left - flow.speed * des::to_seconds(now - flow.since).value());
    flow.speed = speed;
    flow.since = now;
    flow.end = later(now, des::to_duration(Seconds(flow.left / speed)));
  }
}

des::Instant Transfers::next() const {
  des::Instant next = des::kNever;
  for (const Flow& flow : flows_) next = std::min(next, flow.end);
  return next;
}

void Transfers::land(des::Instant now, std::vector<Transfer>& arrived) {
  if (next() > now) return;
  std::vector<std::size_t> free;
  for (const Flow& flow : flows_)
    if (flow.end <= now) {
      arrived.push_back(flow.transfer);
      free.push_back(flow.transfer.sender);
    }
  std::erase_if(flows_, [&](const Flow& flow) { return flow.end <= now; });
  for (const std::size_t sender : free) {
    waiting_[sender].pop_front();
    start_next(sender, now);
  }
  settle(now);
}

}  // namespace foretoken::serve

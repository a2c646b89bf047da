// Computes the cost of moving bytes.
#include "sim/step/communication.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/cost/exchanges/exchange.h"
#include "sim/cost/kernels/smooth_law.h"
#include "sim/net/cables.h"
#include "sim/step/duration.h"

namespace foretoken::step {
namespace {

// Rules of jobs want a law for every exchange (check_exchanges in sim/job/rules/experts.cpp).
Seconds exchange_time(ExchangeShape shape, const Site& site, Bytes payload, const cost::Profile& profile) {
  const cost::ExchangeLaw* law = cost::find_exchange(profile.exchanges, shape.library, shape.phase);
  expects(law != nullptr, "a job that exchanges tokens through a library has its law");
  if (payload == Bytes(0)) shape.tokens = 0;
  const GroupShape& group = site.group;
  if (group.nodes == 1) shape.link_factor = site.links.nvlink_per_gpu / profile.nvlink.reference;
  if (group.nodes > 1)
    shape.nic = cost::network_share(site.links, group.ranks_per_node, group.groups_per_node) /
                static_cast<double>(group.ranks_per_node);
  return cost::exchange_time(shape, *law);
}

Seconds moving_time(const Communication& row, const Site& site, Bytes payload, const cost::Profile& profile) {
  if (row.host_path) return payload / row.host_rate;
  // A placement or a failed link may take NVLink from a group.
  const bool reaches_peers = site.group.nodes == 1 && site.links.nvlink_per_gpu.value() > 0;
  if (row.by_copy_engine && reaches_peers) return cost::peer_copy_time(payload, site.links, profile);
  if (!row.collective) {
    const PointToPointShape message{
        .payload = payload, .crosses_nodes = site.group.nodes > 1, .senders_per_node = site.group.groups_per_node};
    return cost::point_to_point_time(message, site.links, profile);
  }

  if (row.exchange) return exchange_time(*row.exchange, site, payload, profile);
  const CollectiveShape shape{*row.collective, payload, site.group};
  const Seconds time = cost::collective_time(shape, site.links, profile);
  if (!row.nics) return time;
  const BytesPerSecond used = *row.nics * site.links.nic;
  return std::max(time, static_cast<double>(site.group.groups_per_node) * cost::ring_bytes(shape) / used);
}

Seconds time_at(const Communication& row, const Site& site, Bytes payload, const job::Job& job) {
  return row.overhead + row.factor * moving_time(row, site, payload, job.profile_of(site.stage));
}

Seconds slowest(const Communication& row, Bytes payload, const job::Job& job) {
  Seconds time = time_at(row, row.site, payload, job);
  for (const Site& site : row.other_sites) time = std::max(time, time_at(row, site, payload, job));
  return time;
}

}  // namespace

Site site_of(const job::Job& part, Stage stage, AxisSet axes) {
  const net::RankGroups ranks = part.grid().groups(axes);
  return {stage, ranks.shape(part.cluster.links.gpus), net::collective_links(part.cluster, ranks)};
}

Communication bare_message(Stage from, Stage to, Purpose purpose) {
  return {.name = purpose == Purpose::kActivations ? "send activations" : "send gradients",
          .purpose = purpose,
          .axes = Axis::kPipeline,
          .counts_for = Axis::kPipeline,
          .from = from,
          .to = to};
}

des::Duration time_of(const Communication& row, const job::Job& job) {
  return duration_of(cost_of(row, job)) + row.for_tensors;
}

Seconds cost_of(const Communication& row, const job::Job& job) { return slowest(row, row.payload, job); }

Seconds latency_of(const Communication& row, const job::Job& job) { return slowest(row, Bytes(0), job); }

Seconds transfer_of(const Communication& row, const job::Job& job) {
  const Seconds moving = std::max(Seconds(0), cost_of(row, job) - latency_of(row, job));
  if (row.site.group.nodes > 1 || row.exchange || row.host_path) return moving;
  constexpr double kMany = 1 << 30;  // times its bytes: nothing counts beside the rate
  return std::min(moving, slowest(row, kMany * row.payload, job) / kMany);
}

}  // namespace foretoken::step

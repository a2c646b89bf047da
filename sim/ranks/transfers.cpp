// Turns messages and collectives into flows. Costs are taken with full bisection, so the fabric's own links show its
// limits.
#include "sim/ranks/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/net/cables.h"
#include "sim/step/duration.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {
namespace {

// Returns true when every node has equally many members. NCCL's choice is known of no other groups.
bool even(const net::Members& members) {
  return std::ranges::all_of(members, [&](const auto& node) { return node.size() == members.front().size(); });
}

// Returns true when `members` stage ranks move bytes for a row.
bool moves(const step::Communication& row, std::size_t members) {
  switch (row.purpose) {
    case step::Purpose::kPass:
    case step::Purpose::kNormGradients:
    case step::Purpose::kGradients:
    case step::Purpose::kParameters:
      return members > 1;
    case step::Purpose::kActivations:
    case step::Purpose::kActivationGradients:
    case step::Purpose::kMovedActivations:
    case step::Purpose::kTiedEmbedding:
    case step::Purpose::kCopyGradients:
      return true;
    case step::Purpose::kHostCopy:      // its rate is its part of what the GPUs of the host share
    case step::Purpose::kGradientNorm:  // one number
      return false;
  }
  contract_broken("every purpose moves in some way", __FILE__, __LINE__);
}

// Returns the rate of one rank's messages while all senders of its node send.
BytesPerSecond sending_rate(const step::Site& site) {
  return cost::network_share(site.links, 1, site.group.groups_per_node);
}

}  // namespace

Transfers::Kind::Kind(const job::Job& costs, const net::Cluster& cluster, Side where, des::TaskGraph& graph)
    : part(costs),
      side(where),
      wires(cluster, part.imperfections.cluster_gpus.value_or(part.gpus), part.imperfections, {}, graph, side),
      exchanges(wires) {
  const std::optional<cost::NcclSystem>& measured = part.profile.nccl;
  if (measured) nccl.emplace(Nccl{measured->architecture, measured->tuning, {}}, part.cluster.links, wires, graph);
}

Transfers::Transfers(const job::Job& job, const step::Workload& workload, des::TaskGraph& graph)
    : job_(job),
      workload_(workload),
      costs_(step::with_unshared_links(job)),
      parts_(costs_),
      ranks_a_stage_(job.gpus / job.parallelism.pipeline) {
  int first_stage = 0;
  for (const job::Job* part : parts_.all()) {
    const Gpu first_gpu = id_of<Gpu>(first_stage * ranks_a_stage_);
    kinds_.emplace_back(*part, job.cluster_of(id_of<Stage>(first_stage)),
                        Side{first_gpu, job.node_of(first_gpu), !job.groups.empty()}, graph);
    first_stage += part->parallelism.pipeline;
  }
}

LinkParts Transfers::link_parts() const {
  LinkParts parts;
  for (const Kind& kind : kinds_)
    kind.wires.parts().for_each([&](std::uint32_t link, std::span<const int> of_link) {
      for (const int part : of_link) parts.add(link, part);
    });
  return parts;
}

std::vector<Gpu> Transfers::gpus_beside(std::uint32_t link) const {
  std::vector<Gpu> gpus;
  for (const Kind& kind : kinds_)
    if (!kind.wires.parts().of(link).empty())
      for (const net::FabricGpu gpu : kind.wires.gpus_beside(link)) gpus.push_back(in_job(gpu, kind.side));
  return gpus;
}

std::vector<std::uint32_t> Transfers::link_ids() const {
  return kinds_.size() == 1 ? kinds_.front().wires.link_ids() : std::vector<std::uint32_t>();
}

Transfers::Kind& Transfers::kind_of(Stage stage) { return kinds_[job_.groups.empty() ? 0 : job_.group_of(stage)]; }

net::FabricGpu Transfers::gpu_of(const Kind& here, Rank rank) const {
  return in_fabric(job_.imperfections.gpu_of(rank), here.side);
}

Alone Transfers::alone(const step::Site& site) {
  const GroupShape& group = site.group;
  const NodeLinks& links = site.links;
  if (group.nodes > 1) return {cost::network_share(links, group.ranks_per_node, group.groups_per_node), true};
  return {links.nvlink_per_gpu.value() > 0 ? links.nvlink_per_gpu : links.pcie_share(), false};
}

bool Transfers::moves(const step::Meaning& meaning, const step::Workload& workload, const step::Passes& passes,
                      std::size_t members) {
  if (meaning.kind != step::TaskMeaning::kPass || meaning.op != nullptr)
    return meaning.communication && ranks::moves(workload.communications[*meaning.communication], members);
  const auto& exposed = passes.timing(meaning.stage, meaning.chunk, meaning.pass).comm;
  return std::ranges::any_of(kAxisNames, [&](const auto& axis) { return exposed[axis.first].ps > 0; });
}

std::span<const Transfer> Transfers::transfers_of(const step::Meaning& meaning, des::Duration duration,
                                                  des::Duration stretched, const step::Passes& passes,
                                                  std::span<const StageRank> members) {
  found_.clear();
  if (meaning.kind == step::TaskMeaning::kPass && meaning.op == nullptr) {
    of_pass(meaning, duration, stretched, passes, members);
  } else if (meaning.communication) {
    const Kept& kept = of_row(*meaning.communication, meaning.stage, duration, members);
    if (!kept.legs.empty()) found_.push_back({kept.latency, &kept.legs});
  }
  return found_;
}

const Transfers::Kept& Transfers::of_row(step::CommunicationId id, Stage stage, des::Duration moving,
                                         std::span<const StageRank> members) {
  const Key key{id, nullptr, stage, members.front(), members.size(), moving.ps};
  auto found = kept_.find(key);
  if (found == kept_.end())
    found = kept_.emplace(key, laid_out(workload_.communications[id], stage, moving, members)).first;
  return found->second;
}

Transfers::Kept Transfers::laid_out(const step::Communication& row, Stage stage, des::Duration moving,
                                    std::span<const StageRank> members) {
  if (!ranks::moves(row, members.size())) return {};
  switch (row.purpose) {
    case step::Purpose::kPass:
    case step::Purpose::kNormGradients:
      return in_groups({{&row, 1}}, stage, moving, members);
    case step::Purpose::kActivations:
    case step::Purpose::kActivationGradients:
    case step::Purpose::kMovedActivations:
      return message(row, moving, members.front());
    default:
      return collective(row, moving, members);
  }
}

// A pass computes first, and then does all its exposed communication at once. The communication adds as much to the
// pass, and shares links with others for as long in total.
void Transfers::of_pass(const step::Meaning& meaning, des::Duration duration, des::Duration stretched,
                        const step::Passes& passes, std::span<const StageRank> members) {
  const step::PassTiming& timing = passes.timing(meaning.stage, meaning.chunk, meaning.pass);
  const auto part = [&](des::Duration exposed) {
    return des::Duration{std::llround(static_cast<double>(duration.ps) * static_cast<double>(exposed.ps) /
                                      static_cast<double>(std::max<std::int64_t>(1, timing.total.ps)))};
  };
  PerAxis<des::Duration> moving;
  des::Duration before = stretched;
  for (const auto& [axis, name] : kAxisNames) {
    moving[axis] = part(timing.comm[axis]);
    before = before - moving[axis];
  }
  before = std::max(des::Duration{}, before);  // parts may round up
  for (const auto& [axis, name] : kAxisNames) {
    if (moving[axis].ps == 0) continue;
    const Key key{workload_.pass_row(meaning.stage, axis),
                  &timing,
                  meaning.stage,
                  members.front(),
                  members.size(),
                  moving[axis].ps};
    auto found = kept_.find(key);
    if (found == kept_.end())
      found = kept_.emplace(key, in_groups(rows_of(meaning, axis, passes), meaning.stage, moving[axis], members)).first;
    found_.push_back({before + found->second.latency, &found->second.legs});
    before = {};
  }
}

const Transfers::Rows& Transfers::rows_of(const step::Meaning& meaning, Axis axis, const step::Passes& passes) {
  const auto [found, is_new] = rows_.try_emplace({&passes.timing(meaning.stage, meaning.chunk, meaning.pass), axis});
  if (!is_new) return found->second;
  std::map<step::CommunicationId, int> times;
  for (const step::TimedOps* block : passes.blocks(meaning.stage, meaning.chunk, meaning.pass))
    for (const step::TimedOp& op : *block)
      if (op.axis == axis) ++times[op.communication.value()];
  for (const auto& [id, count] : times) found->second.emplace_back(&passes.communications(meaning.stage)[id], count);
  return found->second;
}

// A placement may move a group to other nodes. It then costs what a group of its shape costs there. Of uneven numbers
// on nodes the least decides, because that node has the fewest NICs for the group. Exchanges of a library keep their
// cost, because it has the copies for each node in it.
step::Site Transfers::placed(const step::Site& site, const Kind& here, std::span<const Rank> ranks,
                             std::span<const net::FabricGpu> gpus) {
  std::vector<net::FabricGpu> in_order;
  for (const Rank rank : ranks) in_order.push_back(in_fabric(Gpu{rank.value}, here.side));
  const net::Cluster& cluster = here.part.cluster;
  const int domain = cluster.links.gpus;
  const net::Members members = net::members_of(gpus, domain), planned = net::members_of(in_order, domain);
  const auto same_size = [](const auto& a, const auto& b) { return a.size() == b.size(); };
  if (std::ranges::equal(members, planned, same_size)) return site;
  const auto smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  step::Site real = site;
  real.group.nodes = static_cast<int>(members.size());
  real.group.ranks_per_node = static_cast<int>(std::ranges::min_element(members, smaller)->size());
  real.group.groups_per_node =
      std::max(1, site.group.groups_per_node * site.group.ranks_per_node / real.group.ranks_per_node);
  std::vector<std::vector<int>> on_nodes;
  for (const auto& node : members)
    for (on_nodes.emplace_back(); const net::FabricGpu gpu : node) on_nodes.back().push_back(gpu.number() % domain);
  real.links = net::links_among(cluster, on_nodes);
  return real;
}

Transfers::Kept Transfers::in_groups(const Rows& rows, Stage stage, des::Duration moving,
                                     std::span<const StageRank> members) {
  Kind& here = kind_of(stage);
  const step::Communication& first = *rows.front().first;
  const net::RankGroups all = here.part.grid().groups(first.axes);
  std::map<Rank, std::vector<Rank>> groups;  // by lowest rank, numbered as on the first stage
  for (const StageRank member : members) groups[all.first_of(Rank{member.value})].push_back(rank_of(stage, member));
  const bool messages = first.axes == Axis::kExpert && first.collective == CollectiveKind::kAllToAll;

  const Cost& usual = in_order(rows, stage);
  const double part = usual.whole > Seconds(0) ? des::to_seconds(moving) / usual.whole : 0;
  const bool stays = first.exchange || job_.imperfections.placement.empty();

  Kept kept;
  for (const auto& group : groups) {
    const std::vector<Rank>& ranks = group.second;
    const std::vector<net::FabricGpu> gpus = gpus_of(here, ranks);
    const auto site = [&](const step::Site& in_order_of_ranks) {
      return stays ? in_order_of_ranks : placed(in_order_of_ranks, here, ranks, gpus);
    };
    const Cost cost = stays ? usual : cost_of(rows, stage, site);
    const Seconds transfer = part * cost.transfer;
    const Seconds latency = std::max(Seconds(0), part * cost.whole - transfer);
    kept.latency = std::max(kept.latency, step::duration_of(latency));
    const Alone rate = alone(site(first.site));
    for (Leg& leg :
         messages ? here.exchanges.legs(gpus, transfer, rate) : here.wires.pipelined_ring(gpus, transfer, rate))
      kept.legs.push_back(std::move(leg));
  }
  return kept;
}

template <class SiteOf>
Transfers::Cost Transfers::cost_of(const Rows& rows, Stage stage, const SiteOf& site_of) const {
  Cost cost{Seconds(0), Seconds(0)};
  for (const auto& [row, times] : rows) {
    step::Communication there = *row;
    there.site = site_of(row->site);
    there.site.stage = stage;
    cost.whole = cost.whole + times * step::cost_of(there, costs_);
    cost.transfer = cost.transfer + times * step::transfer_of(there, costs_);
  }
  return cost;
}

const Transfers::Cost& Transfers::in_order(const Rows& rows, Stage stage) {
  const auto found = in_order_.find({rows, stage});
  if (found != in_order_.end()) return found->second;
  const Cost cost = cost_of(rows, stage, [](const step::Site& site) { return site; });
  return in_order_.emplace(std::pair(rows, stage), cost).first->second;
}

const Transfers::Cost& Transfers::of_message(const step::Communication& row, bool crosses) {
  const auto [found, is_new] = of_message_.try_emplace({&row, crosses});
  if (!is_new) return found->second;
  step::Communication bytes = row;
  bytes.site.group.nodes = crosses ? 2 : 1;
  bytes.overhead = Seconds(0);
  return found->second = {step::cost_of(bytes, costs_), step::transfer_of(bytes, costs_)};
}

Transfers::Kept Transfers::message(const step::Communication& row, des::Duration duration, StageRank rank) {
  if (!row.other_sites.empty()) return message_across(row, duration, rank);
  Kind& here = kind_of(row.from);
  const net::FabricGpu from = gpu_of(here, rank_of(row.from, rank)), to = gpu_of(here, rank_of(row.to, rank));
  const Cost& cost = of_message(row, here.wires.node_of(from) != here.wires.node_of(to));
  return {step::duration_of(row.overhead + (cost.whole - cost.transfer)),
          here.wires.message(from, to, cost.transfer, sending_rate(row.site))};
}

Transfers::Kept Transfers::message_across(const step::Communication& row, des::Duration duration, StageRank rank) {
  const des::Duration latency = std::min(duration, step::duration_of(step::latency_of(row, costs_)));
  return {latency,
          across(end_at(row.site, rank), end_at(row.other_sites.front(), rank), des::to_seconds(duration - latency))};
}

Transfers::End Transfers::end_at(const step::Site& site, StageRank rank) {
  Kind& kind = kind_of(site.stage);
  return {kind, gpu_of(kind, rank_of(site.stage, rank)), sending_rate(site)};
}

// Makes enough flows that every NIC near either GPU carries equally many, at the rate of the slower side.
std::vector<Leg> Transfers::across(const End& from, const End& to, Seconds transfer) {
  const int flows = std::lcm(from.kind.wires.nics_near(from.gpu), to.kind.wires.nics_near(to.gpu));
  const BytesPerSecond rate =
      std::min(from.kind.wires.exit_rate(from.gpu, flows, from.rate), to.kind.wires.exit_rate(to.gpu, flows, to.rate));
  std::vector<Leg> legs;
  for (int k = 0; k < flows; ++k) {
    Leg& leg = legs.emplace_back(Leg{{}, Bytes(transfer.value() * rate.value() / flows)});
    from.kind.wires.take_exit(from.gpu, k, /*out=*/true, leg.route);
    to.kind.wires.take_exit(to.gpu, k, /*out=*/false, leg.route);
  }
  return legs;
}

Transfers::Kept Transfers::collective(const step::Communication& row, des::Duration duration,
                                      std::span<const StageRank> members) {
  if (!row.other_sites.empty()) return pair_across(row, duration, members.front());
  std::vector<Rank> ranks;
  for (const StageRank member : members) {
    ranks.push_back(rank_of(row.from, member));
    if (row.to != row.from) ranks.push_back(rank_of(row.to, member));
  }
  std::sort(ranks.begin(), ranks.end());
  Kind& here = kind_of(row.from);
  const std::vector<net::FabricGpu> gpus = gpus_of(here, ranks);
  step::Communication there = row;
  there.site = placed(row.site, here, ranks, gpus);
  const Seconds moved = step::cost_of(there, costs_) - step::cost_of(row, costs_);
  const Seconds whole = std::max(Seconds(0), des::to_seconds(duration) + moved);
  const Seconds transfer = std::min(whole, step::transfer_of(there, costs_));
  return {step::duration_of(whole - transfer),
          as_nccl(here, *row.collective, row.payload, gpus, transfer, alone(there.site))};
}

std::vector<net::FabricGpu> Transfers::gpus_of(const Kind& here, std::span<const Rank> ranks) const {
  std::vector<net::FabricGpu> gpus;
  for (const Rank rank : ranks) gpus.push_back(gpu_of(here, rank));
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

// Makes a ring of two. Both ranks send equally many bytes.
Transfers::Kept Transfers::pair_across(const step::Communication& row, des::Duration duration, StageRank rank) {
  const End first = end_at(row.site, rank), last = end_at(row.other_sites.front(), rank);
  const Seconds whole = des::to_seconds(duration), latency = std::min(whole, step::latency_of(row, costs_));
  Kept kept{step::duration_of(latency), across(first, last, whole - latency)};
  for (Leg& leg : across(last, first, whole - latency)) kept.legs.push_back(std::move(leg));
  return kept;
}

// Rings move the bytes that a rank sends over every hop. The bytes of another algorithm are chosen to take as long as
// its cost.
std::vector<Leg> Transfers::as_nccl(Kind& here, CollectiveKind kind, Bytes payload,
                                    std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone) {
  Wires& wires = here.wires;
  const net::Members members = net::members_of(gpus, here.part.cluster.links.gpus);
  if (!here.nccl || !even(members)) return wires.ring(gpus, transfer, alone);
  const cost::NcclAlgorithm algorithm = here.nccl->choice(kind, payload, members).algorithm;
  if (algorithm == cost::NcclAlgorithm::kRing || algorithm == cost::NcclAlgorithm::kPat)
    return wires.ring(gpus, transfer, alone);
  const Bytes one(1);
  const Seconds for_one = wires.time_alone(here.nccl->pipelines(algorithm, {kind, one, one}, members), alone);
  const Bytes all = (transfer / for_one) * one;
  std::vector<Leg> legs;
  for (const Pipeline& pipeline : here.nccl->pipelines(algorithm, {kind, all, all}, members))
    legs.push_back(wires.leg(pipeline));
  return legs;
}

}  // namespace foretoken::ranks

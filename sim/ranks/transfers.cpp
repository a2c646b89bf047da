// Messages and collectives as flows. Costs are taken with full bisection: what the fabric lacks, its own links show.
#include "sim/ranks/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/net/cables.h"
#include "sim/step/duration.h"
#include "sim/step/lower.h"

namespace foretoken::ranks {
namespace {

// Whether there are as many on every node: NCCL's choice is known of no others.
bool even(const net::Members& members) {
  return std::ranges::all_of(members, [&](const auto& node) { return node.size() == members.front().size(); });
}

// What passes before a message's first byte arrives.
Seconds latency_of(const step::Message& message, const job::Job& part) {
  PointToPointShape nothing = message.shape;
  nothing.payload = Bytes(0);
  return cost::point_to_point_time(nothing, message.links, part.profile);
}

// What it moves at while all senders of its node send.
BytesPerSecond share_of(const step::Message& message) {
  return cost::network_share(message.links, 1, message.shape.senders_per_node);
}

}  // namespace

Transfers::Kind::Kind(const job::Job& costs, const net::Cluster& cluster, Side where, des::TaskGraph& graph)
    : part(costs),
      side(where),
      wires(cluster, std::max(part.gpus, part.imperfections.cluster_gpus), part.imperfections, {}, graph, side) {
  const std::optional<cost::NcclSystem>& measured = part.profile.nccl;
  if (measured) nccl.emplace(Nccl{measured->architecture, measured->tuning, {}}, part.cluster.links, wires, graph);
}

Transfers::Transfers(const job::Job& job, const step::Workload& workload, des::TaskGraph& graph)
    : job_(job),
      workload_(workload),
      costs_(step::with_full_bisection(job)),
      parts_(costs_),
      ranks_a_stage_(job.gpus / job.parallelism.pipeline) {
  int first_stage = 0;
  for (const job::Job* part : parts_.all()) {
    const int first_gpu = first_stage * ranks_a_stage_;
    kinds_.emplace_back(*part, job.cluster_of(first_stage),
                        Side{first_gpu, job.node_of(first_gpu), !job.groups.empty()}, graph);
    first_stage += part->parallelism.pipeline;
  }
}

LinkParts Transfers::link_parts() const {
  LinkParts parts;
  for (const Kind& kind : kinds_) parts.insert(kind.wires.parts().begin(), kind.wires.parts().end());
  return parts;
}

std::vector<int> Transfers::gpus_beside(std::uint32_t link) const {
  std::vector<int> gpus;
  for (const Kind& kind : kinds_)
    if (kind.wires.parts().contains(link))
      for (const int gpu : kind.wires.gpus_beside(link)) gpus.push_back(kind.side.first_gpu + gpu);
  return gpus;
}

std::vector<std::uint32_t> Transfers::link_ids() const {
  return kinds_.size() == 1 ? kinds_.front().wires.link_ids() : std::vector<std::uint32_t>();
}

Transfers::Kind& Transfers::kind_of(int stage) { return kinds_[job_.groups.empty() ? 0 : job_.group_of(stage)]; }

int Transfers::gpu_of(const Kind& here, int rank_of_job) const {
  return job_.imperfections.gpu_of(rank_of_job) - here.side.first_gpu;
}

// A group that its placement tears from one node sends over the network what it would have sent inside.
Alone Transfers::alone(const step::Site& site) {
  const GroupShape& group = site.group;
  const NodeLinks& links = site.links;
  if (group.nodes > 1) return {cost::network_share(links, group.ranks_per_node, group.groups_per_node), true};
  return {links.nvlink_per_gpu.value() > 0 ? links.nvlink_per_gpu : links.pcie_per_gpu, false};
}

std::span<const Transfer> Transfers::transfers_of(const step::Meaning& meaning, des::Duration duration,
                                                  des::Duration stretched, const step::Passes& passes,
                                                  std::span<const int> members) {
  found_.clear();
  switch (meaning.kind) {
    case step::TaskMeaning::kForward:
    case step::TaskMeaning::kBackward:
      of_pass(meaning, duration, stretched, passes, members);
      break;
    case step::TaskMeaning::kNormReduce:
      found_.push_back({{}, &in_groups(meaning, /*context=*/false, duration, members)});
      break;
    case step::TaskMeaning::kSendForward:
    case step::TaskMeaning::kSendBackward: {
      const Key key{meaning.kind, static_cast<int>(meaning.stage), members.front(), duration.ps, false};
      auto found = kept_.find(key);
      if (found == kept_.end()) found = kept_.emplace(key, message(meaning, duration, members.front())).first;
      found_.push_back({found->second.latency, &found->second.legs});
      break;
    }
    case step::TaskMeaning::kGradReduce:
    case step::TaskMeaning::kParamGather:
      if (members.size() == 1) break;
      [[fallthrough]];
    case step::TaskMeaning::kEmbeddingTie: {
      const RowKey key{*meaning.communication, members.front(), duration.ps};
      auto found = rows_.find(key);
      if (found == rows_.end()) {
        const step::Communication& row = workload_.communications[*meaning.communication];
        found = rows_.emplace(key, collective(row, duration, members)).first;
      }
      found_.push_back({found->second.latency, &found->second.legs});
      break;
    }
    default:
      break;
  }
  return found_;
}

// A kernel is one collective. A pass computes first, and then does all its exposed communication at once: what it adds
// to the pass, and for how long in all it shares links with others, is the same.
void Transfers::of_pass(const step::Meaning& meaning, des::Duration duration, des::Duration stretched,
                        const step::Passes& passes, std::span<const int> members) {
  if (meaning.op != nullptr) {
    if (meaning.op->stream == step::OpStream::kCompute || members.size() == 1) return;
    found_.push_back({{}, &in_groups(meaning, meaning.op->stream == step::OpStream::kContextComm, duration, members)});
    return;
  }
  const auto phase =
      meaning.kind == step::TaskMeaning::kForward ? schedule::Phase::kForward : schedule::Phase::kBackward;
  const step::PassTiming& timing = passes.timing(meaning.stage, meaning.chunk, phase);
  const auto part = [&](des::Duration exposed) {
    return des::Duration{std::llround(static_cast<double>(duration.ps) * static_cast<double>(exposed.ps) /
                                      static_cast<double>(std::max<std::int64_t>(1, timing.total.ps)))};
  };
  const des::Duration tensor = part(timing.tensor_comm), context = part(timing.context_comm);
  const des::Duration rest = std::max(des::Duration{}, stretched - tensor - context);  // parts may round up
  if (tensor.ps > 0) found_.push_back({rest, &in_groups(meaning, /*context=*/false, tensor, members)});
  if (context.ps > 0)
    found_.push_back({tensor.ps > 0 ? des::Duration{} : rest, &in_groups(meaning, /*context=*/true, context, members)});
}

const std::vector<Leg>& Transfers::in_groups(const step::Meaning& meaning, bool context, des::Duration moving,
                                             std::span<const int> members) {
  const Key key{meaning.kind, static_cast<int>(meaning.stage), members.front(), moving.ps, context};
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second.legs;
  Kind& here = kind_of(meaning.stage);
  const step::Site site = step::site_of(here.part, {meaning.stage}, context ? Axis::kContext : Axis::kTensor);
  // A rank's place in its tensor group turns fastest; what is left of its number names the group, and the other way
  // round for context groups.
  const int tensor = job_.parallelism.tensor, block = tensor * job_.parallelism.context;
  std::map<int, std::vector<int>> groups;
  for (const int member : members)
    groups[context ? member / block * tensor + member % tensor : member / tensor].push_back(
        gpu_of(here, meaning.stage * ranks_a_stage_ + member));
  Kept kept;
  for (auto& [name, gpus] : groups) {
    std::sort(gpus.begin(), gpus.end());
    for (Leg& leg : here.wires.pipelined_ring(gpus, des::to_seconds(moving), alone(site)))
      kept.legs.push_back(std::move(leg));
  }
  return kept_.emplace(key, std::move(kept)).first->second.legs;
}

Transfers::Kept Transfers::message(const step::Meaning& meaning, des::Duration duration, int rank) {
  const int stages = job_.parallelism.pipeline, stage = meaning.stage;
  const bool forward = meaning.kind == step::TaskMeaning::kSendForward;
  const int to_stage = (stage + (forward ? 1 : stages - 1)) % stages;
  Kind &here = kind_of(stage), &there = kind_of(to_stage);
  const int from = gpu_of(here, stage * ranks_a_stage_ + rank), to = gpu_of(there, to_stage * ranks_a_stage_ + rank);
  if (&here != &there) return message_across(here, there, from, to, duration);
  step::Message message = step::message_from(here.part, parts_.local(forward ? stage : to_stage));
  message.shape.crosses_nodes = here.wires.node_of(from) != here.wires.node_of(to);
  const Seconds latency = latency_of(message, here.part);
  const Seconds transfer = cost::point_to_point_time(message.shape, message.links, here.part.profile) - latency;
  return {step::duration_of(message.fixed + latency), here.wires.message(from, to, transfer, share_of(message))};
}

Transfers::Kept Transfers::message_across(Kind& from, Kind& to, int from_gpu, int to_gpu, des::Duration duration) {
  Seconds before(0);
  const auto end = [&](Kind& kind, int gpu) {
    const step::Message message = step::message_across(kind.part, to.part);
    before = std::max(before, message.fixed + latency_of(message, kind.part));
    return End{kind, gpu, share_of(message)};
  };
  const End sender = end(from, from_gpu), receiver = end(to, to_gpu);
  const des::Duration latency = std::min(duration, step::duration_of(before));
  return {latency, across(sender, receiver, des::to_seconds(duration - latency))};
}

// So many flows that every NIC near either GPU carries as many as the next, at the rate of the slower side.
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
                                      std::span<const int> members) {
  if (!row.other_sites.empty()) return pair_across(row, duration, members.front());
  const Seconds whole = des::to_seconds(duration);
  const Seconds latency = std::min(whole, step::latency_of(row, costs_));
  std::vector<int> ranks;
  for (const int member : members) {
    ranks.push_back(row.from.number() * ranks_a_stage_ + member);
    if (row.to != row.from) ranks.push_back(row.to.number() * ranks_a_stage_ + member);
  }
  std::sort(ranks.begin(), ranks.end());
  return {step::duration_of(latency),
          as_nccl(kind_of(row.from.number()), *row.collective, row.payload, ranks, whole - latency, alone(row.site))};
}

// A ring of two: each sends the other as much.
Transfers::Kept Transfers::pair_across(const step::Communication& row, des::Duration duration, int rank) {
  const auto end = [&](const step::Site& site) {
    Kind& kind = kind_of(site.stage.number());
    return End{kind, gpu_of(kind, site.stage.number() * ranks_a_stage_ + rank), alone(site).rate};
  };
  const End first = end(row.site), last = end(row.other_sites.front());
  const Seconds whole = des::to_seconds(duration), latency = std::min(whole, step::latency_of(row, costs_));
  Kept kept{step::duration_of(latency), across(first, last, whole - latency)};
  for (Leg& leg : across(last, first, whole - latency)) kept.legs.push_back(std::move(leg));
  return kept;
}

// Rings move over every hop what a rank sends. Other algorithms are laid out as the cost has it, every rank on the GPU
// of its number, to see how many bytes take as long as the cost says; these then move from where the ranks really are.
std::vector<Leg> Transfers::as_nccl(Kind& here, CollectiveKind kind, Bytes payload, std::span<const int> ranks,
                                    Seconds transfer, Alone alone) {
  std::vector<int> gpus, in_order;
  for (const int rank : ranks) gpus.push_back(gpu_of(here, rank));
  for (const int rank : ranks) in_order.push_back(rank - here.side.first_gpu);
  std::sort(gpus.begin(), gpus.end());
  Wires& wires = here.wires;
  const int domain = here.part.cluster.links.gpus;
  const net::Members members = net::members_of(gpus, domain), planned = net::members_of(in_order, domain);
  if (!here.nccl || !even(members) || !even(planned)) return wires.ring(gpus, transfer, alone);
  const cost::NcclAlgorithm algorithm = here.nccl->choice(kind, payload, members).algorithm;
  if (algorithm == cost::NcclAlgorithm::kRing || algorithm == cost::NcclAlgorithm::kPat)
    return wires.ring(gpus, transfer, alone);
  const Bytes one(1);
  const Seconds for_one = wires.time_alone(here.nccl->pipelines(algorithm, {kind, one, one}, planned), alone);
  const Bytes all = (transfer / for_one) * one;
  std::vector<Leg> legs;
  for (const Pipeline& pipeline : here.nccl->pipelines(algorithm, {kind, all, all}, members))
    legs.push_back(wires.leg(pipeline));
  return legs;
}

}  // namespace foretoken::ranks

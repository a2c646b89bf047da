// Messages and collectives as flows. Costs are taken with full bisection: what the fabric lacks, its own links show.
#include "sim/lowering/transfers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/cost/costs.h"
#include "sim/cost/network_share.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/lower_data_parallel.h"
#include "sim/net/cables.h"

namespace foretoken::lowering {
namespace {

// Whether there are as many on every node: NCCL's choice is known of no others.
bool even(const net::Members& members) {
  return std::ranges::all_of(members, [&](const auto& node) { return node.size() == members.front().size(); });
}

}  // namespace

Transfers::Transfers(const Scenario& scenario, des::TaskGraph& graph)
    : scenario_(scenario),
      wires_(scenario.cluster, std::max(scenario.gpus, scenario.imperfections.cluster_gpus), scenario.imperfections, {},
             graph),
      ranks_a_stage_(scenario.gpus / scenario.parallelism.pipeline) {
  const std::optional<cost::NcclSystem>& nccl = scenario.profile.nccl;
  if (nccl) nccl_.emplace(Nccl{nccl->architecture, nccl->tuning, {}}, scenario.cluster.links, wires_, graph);
}

int Transfers::gpu_of(int stage, int rank) const {
  return scenario_.imperfections.gpu_of(stage * ranks_a_stage_ + rank);
}

// A group that its placement tears from one node sends over the network what it would have sent inside.
Alone Transfers::alone(const GroupShape& group, const NodeLinks& links) {
  if (group.nodes > 1) return {cost::network_share(links, group.ranks_per_node, group.groups_per_node), true};
  return {links.nvlink_per_gpu.value() > 0 ? links.nvlink_per_gpu : links.pcie_per_gpu, false};
}

std::span<const Transfer> Transfers::transfers_of(const Meaning& meaning, des::Duration duration,
                                                  des::Duration stretched, const Passes& passes,
                                                  std::span<const int> members) {
  found_.clear();
  switch (meaning.kind) {
    case TaskMeaning::kForward:
    case TaskMeaning::kBackward:
      of_pass(meaning, duration, stretched, passes, members);
      break;
    case TaskMeaning::kNormReduce:
      found_.push_back({{}, &in_groups(meaning, /*context=*/false, duration, members)});
      break;
    case TaskMeaning::kGradReduce:
    case TaskMeaning::kParamGather:
      if (members.size() == 1) break;
      [[fallthrough]];
    case TaskMeaning::kSendForward:
    case TaskMeaning::kSendBackward:
    case TaskMeaning::kEmbeddingTie: {
      const bool message = meaning.kind == TaskMeaning::kSendForward || meaning.kind == TaskMeaning::kSendBackward;
      const Key key{meaning.kind, static_cast<int>(meaning.stage), members.front(),
                    duration.ps,  meaning.payload.value(),         false};
      auto found = kept_.find(key);
      if (found == kept_.end())
        found = kept_
                    .emplace(key, message ? this->message(meaning, members.front())
                                          : this->collective(meaning, duration, members))
                    .first;
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
void Transfers::of_pass(const Meaning& meaning, des::Duration duration, des::Duration stretched, const Passes& passes,
                        std::span<const int> members) {
  if (meaning.op != nullptr) {
    if (meaning.op->stream == OpStream::kCompute || members.size() == 1) return;
    found_.push_back({{}, &in_groups(meaning, meaning.op->stream == OpStream::kContextComm, duration, members)});
    return;
  }
  const auto phase = meaning.kind == TaskMeaning::kForward ? schedule::Phase::kForward : schedule::Phase::kBackward;
  const PassTiming& timing = passes.timing(meaning.stage, meaning.chunk, phase);
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

const std::vector<Leg>& Transfers::in_groups(const Meaning& meaning, bool context, des::Duration moving,
                                             std::span<const int> members) {
  const Key key{meaning.kind, static_cast<int>(meaning.stage), members.front(), moving.ps, 0, context};
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second.legs;
  const net::Degrees degrees = scenario_.degrees();
  const NodeLinks links =
      net::collective_links(scenario_.cluster, degrees, context ? net::context_row(degrees) : net::tensor_row(degrees))
          .with_full_bisection();
  const GroupShape shape = context ? net::context_group(degrees, links.gpus) : net::tensor_group(degrees, links.gpus);
  // A rank's place in its tensor group turns fastest; what is left of its number names the group, and the other way
  // round for context groups.
  const int tensor = scenario_.parallelism.tensor, block = tensor * scenario_.parallelism.context;
  std::map<int, std::vector<int>> groups;
  for (const int member : members)
    groups[context ? member / block * tensor + member % tensor : member / tensor].push_back(
        gpu_of(meaning.stage, member));
  Kept kept;
  for (auto& [name, gpus] : groups) {
    std::sort(gpus.begin(), gpus.end());
    for (Leg& leg : wires_.pipelined_ring(gpus, des::to_seconds(moving), alone(shape, links)))
      kept.legs.push_back(std::move(leg));
  }
  return kept_.emplace(key, std::move(kept)).first->second.legs;
}

Transfers::Kept Transfers::message(const Meaning& meaning, int rank) {
  const int stages = scenario_.parallelism.pipeline;
  const bool forward = meaning.kind == TaskMeaning::kSendForward;
  const int to_stage = (meaning.stage + (forward ? 1 : stages - 1)) % stages;
  const int from = gpu_of(meaning.stage, rank), to = gpu_of(to_stage, rank);
  Message message = message_from(scenario_, forward ? meaning.stage : to_stage);
  message.shape.crosses_nodes = wires_.node_of(from) != wires_.node_of(to);
  const NodeLinks links = message.links.with_full_bisection();
  PointToPointShape nothing = message.shape;
  nothing.payload = Bytes(0);
  const Seconds latency = cost::point_to_point_time(nothing, links, scenario_.profile);
  const Seconds transfer = cost::point_to_point_time(message.shape, links, scenario_.profile) - latency;
  const BytesPerSecond share = cost::network_share(links, 1, message.shape.senders_per_node);
  return {duration_of(message.fixed + latency), wires_.message(from, to, transfer, share)};
}

Transfers::Kept Transfers::collective(const Meaning& meaning, des::Duration duration, std::span<const int> members) {
  const bool tie = meaning.kind == TaskMeaning::kEmbeddingTie;
  const net::Degrees degrees = scenario_.degrees();
  const NodeLinks links =
      net::collective_links(scenario_.cluster, degrees, tie ? net::tied_row(degrees) : net::gradient_row(degrees))
          .with_full_bisection();
  const GroupShape group = tie ? tied_pair(scenario_) : net::gradient_group(degrees, links.gpus);
  const CollectiveKind kind = meaning.kind == TaskMeaning::kParamGather     ? CollectiveKind::kAllGather
                              : !tie && scenario_.optimizer.zero_stage >= 1 ? CollectiveKind::kReduceScatter
                                                                            : CollectiveKind::kAllReduce;
  const double factor = !tie && group.nodes > 1 ? scenario_.runtime.data_comm_factor : 1.0;
  const Seconds whole = des::to_seconds(duration);
  const Seconds latency =
      std::min(whole, factor * cost::collective_time({kind, Bytes(0), group}, links, scenario_.profile));
  std::vector<int> ranks;
  for (const int member : members) {
    ranks.push_back(meaning.stage * ranks_a_stage_ + member);
    if (tie) ranks.push_back((scenario_.parallelism.pipeline - 1) * ranks_a_stage_ + member);
  }
  std::sort(ranks.begin(), ranks.end());
  return {duration_of(latency), as_nccl(kind, meaning.payload, ranks, whole - latency, alone(group, links))};
}

// Rings move over every hop what a rank sends. Other algorithms are laid out as the cost has it, every rank on the GPU
// of its number, to see how many bytes take as long as the cost says; these then move from where the ranks really are.
std::vector<Leg> Transfers::as_nccl(CollectiveKind kind, Bytes payload, std::span<const int> ranks, Seconds transfer,
                                    Alone alone) {
  std::vector<int> gpus;
  for (const int rank : ranks) gpus.push_back(scenario_.imperfections.gpu_of(rank));
  std::sort(gpus.begin(), gpus.end());
  const int domain = scenario_.cluster.links.gpus;
  const net::Members members = net::members_of(gpus, domain), planned = net::members_of(ranks, domain);
  if (!nccl_ || !even(members) || !even(planned)) return wires_.ring(gpus, transfer, alone);
  const cost::NcclAlgorithm algorithm = nccl_->choice(kind, payload, members).algorithm;
  if (algorithm == cost::NcclAlgorithm::kRing || algorithm == cost::NcclAlgorithm::kPat)
    return wires_.ring(gpus, transfer, alone);
  const Bytes one(1);
  const Seconds for_one = wires_.time_alone(nccl_->pipelines(algorithm, {kind, one, one}, planned), alone);
  const Bytes all = (transfer / for_one) * one;
  std::vector<Leg> legs;
  for (const Pipeline& pipeline : nccl_->pipelines(algorithm, {kind, all, all}, members))
    legs.push_back(wires_.leg(pipeline));
  return legs;
}

}  // namespace foretoken::lowering

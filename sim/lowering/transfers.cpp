// Messages and data-parallel collectives as flows.
#include "sim/lowering/transfers.h"

#include <algorithm>

#include "sim/cost/costs.h"
#include "sim/cost/network_share.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/lower_data_parallel.h"

namespace foretoken::lowering {

Transfers::Transfers(const Scenario& scenario, des::TaskGraph& graph)
    : scenario_(scenario),
      wires_(scenario.cluster, std::max(scenario.gpus, scenario.imperfections.cluster_gpus), scenario.imperfections, {},
             graph),
      ranks_a_stage_(scenario.gpus / scenario.parallelism.pipeline) {}

int Transfers::gpu_of(int stage, int rank) const {
  return scenario_.imperfections.gpu_of(stage * ranks_a_stage_ + rank);
}

std::optional<Transfer> Transfers::transfer_of(const Meaning& meaning, des::Duration duration,
                                               std::span<const int> members) {
  const bool message = meaning.kind == TaskMeaning::kSendForward || meaning.kind == TaskMeaning::kSendBackward;
  const bool replicas = meaning.kind == TaskMeaning::kGradReduce || meaning.kind == TaskMeaning::kParamGather;
  const bool tie = meaning.kind == TaskMeaning::kEmbeddingTie;
  if (!message && !tie && !(replicas && members.size() > 1)) return std::nullopt;
  const std::tuple key{meaning.kind, static_cast<int>(meaning.stage), members.front(), duration.ps};
  auto found = kept_.find(key);
  if (found == kept_.end())
    found = kept_
                .emplace(key, message ? this->message(meaning, members.front())
                                      : this->collective(meaning, duration, members))
                .first;
  return Transfer{found->second.latency, &found->second.legs};
}

Transfers::Kept Transfers::message(const Meaning& meaning, int rank) {
  const int stages = scenario_.parallelism.pipeline;
  const bool forward = meaning.kind == TaskMeaning::kSendForward;
  const int to_stage = (meaning.stage + (forward ? 1 : stages - 1)) % stages;
  const int from = gpu_of(meaning.stage, rank), to = gpu_of(to_stage, rank);
  const NodeLinks& links = scenario_.cluster.links;
  Message message = message_from(scenario_, forward ? meaning.stage : to_stage);
  message.shape.crosses_nodes = wires_.node_of(from) != wires_.node_of(to);
  PointToPointShape nothing = message.shape;
  nothing.payload = Bytes(0);
  const Seconds latency = cost::point_to_point_time(nothing, links, scenario_.profile);
  const Seconds transfer = cost::point_to_point_time(message.shape, links, scenario_.profile) - latency;
  const BytesPerSecond share = cost::network_share(links, 1, message.shape.senders_per_node);
  return {duration_of(message.fixed + latency), wires_.message(from, to, transfer, share)};
}

Transfers::Kept Transfers::collective(const Meaning& meaning, des::Duration duration, std::span<const int> members) {
  const NodeLinks& links = scenario_.cluster.links;
  const bool tie = meaning.kind == TaskMeaning::kEmbeddingTie;
  const GroupShape group = tie ? tied_pair(scenario_) : net::gradient_group(scenario_.degrees(), links.gpus);
  const CollectiveKind kind = meaning.kind == TaskMeaning::kParamGather     ? CollectiveKind::kAllGather
                              : !tie && scenario_.optimizer.zero_stage >= 1 ? CollectiveKind::kReduceScatter
                                                                            : CollectiveKind::kAllReduce;
  const double factor = !tie && group.nodes > 1 ? scenario_.runtime.data_comm_factor : 1.0;
  const Seconds whole = des::to_seconds(duration);
  const Seconds latency =
      std::min(whole, factor * cost::collective_time({kind, Bytes(0), group}, links, scenario_.profile));
  std::vector<int> gpus;
  for (const int member : members) {
    gpus.push_back(gpu_of(meaning.stage, member));
    if (tie) gpus.push_back(gpu_of(scenario_.parallelism.pipeline - 1, member));
  }
  std::sort(gpus.begin(), gpus.end());
  const BytesPerSecond share =
      group.nodes > 1 ? cost::network_share(links, group.ranks_per_node, group.groups_per_node) : BytesPerSecond(0);
  return {duration_of(latency), wires_.ring(gpus, whole - latency, share)};
}

}  // namespace foretoken::lowering

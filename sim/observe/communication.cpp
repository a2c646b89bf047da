// Collectives inside passes are counted block by block; messages and the collectives of the step's end task by task.
#include "sim/observe/communication.h"

#include <map>
#include <optional>

#include "sim/job/parts.h"
#include "sim/net/cables.h"

namespace foretoken::observe {
namespace {

using step::Meaning;
using step::OpStream;
using step::TaskMeaning;

void add_passes(GroupTraffic& traffic, OpStream stream, int stage, const step::LoweredStep& step) {
  for (const step::PassTasks& pass : step.workload.passes[static_cast<std::size_t>(stage)])
    for (const step::TimedOps* block : step.passes->blocks(stage, pass.op.chunk, pass.op.phase))
      for (const step::TimedOp& op : *block) {
        if (op.stream != stream) continue;
        ++traffic.operations;
        traffic.payload += op.payload;
        traffic.time += des::to_seconds(op.duration);
      }
}

Seconds span_of(std::size_t task, const des::RunResult& run) {
  return des::to_seconds(run.end[task] - run.start[task]);
}

// Messages that `stage` sends and receives.
void add_messages(GroupTraffic& traffic, int stage, const step::LoweredStep& step, const des::RunResult& run) {
  const int stages = static_cast<int>(step.workload.stages.size());
  for (std::size_t task = 0; task < step.workload.meaning.size(); ++task) {
    const Meaning& meaning = step.workload.meaning[task];
    const bool forward = meaning.kind == TaskMeaning::kSendForward;
    if (!forward && meaning.kind != TaskMeaning::kSendBackward) continue;
    const int receiver = (meaning.stage + (forward ? 1 : stages - 1)) % stages;
    if (meaning.stage != stage && receiver != stage) continue;
    ++traffic.operations;
    traffic.payload += step.message;
    traffic.time += span_of(task, run);
  }
}

std::string_view words_of(const step::Communication& row) {
  switch (row.purpose) {
    case step::Purpose::kGradients:
      return row.collective == CollectiveKind::kReduceScatter ? "gradients: reduce-scatter" : "gradients: all-reduce";
    case step::Purpose::kParameters:
      return "parameters: all-gather";
    case step::Purpose::kTiedEmbedding:
      return "gradient of the tied embedding: all-reduce of first and last stage";
    default:
      return row.name;
  }
}

// Gradients, parameters and the tied embedding: what counts as data-parallel communication, in the order of purposes.
void add_replicas(GroupTraffic& traffic, int stage, const step::Workload& workload, const des::RunResult& run) {
  std::map<step::Purpose, Traffic> parts;
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const std::optional<step::CommunicationId> id = workload.meaning[task].communication;
    if (!id) continue;
    const step::Communication& row = workload.communications[*id];
    if (row.counts_for != Axis::kData || !row.involves(id_of<Stage>(stage))) continue;
    Traffic& part = parts[row.purpose];
    part.what = words_of(row);
    ++part.operations;
    part.payload += row.payload;
    part.time += span_of(task, run);
  }
  for (const auto& [purpose, part] : parts) {
    traffic.parts.push_back(part);
    traffic.operations += part.operations;
    traffic.payload += part.payload;
    traffic.time += part.time;
  }
}

}  // namespace

std::vector<GroupTraffic> communication(const job::Job& job, const step::LoweredStep& step, const des::RunResult& run,
                                        const Observations& seen) {
  const int stage = seen.busiest_stage;
  const job::Parts parts(job);
  const net::Degrees degrees = parts.of(stage).degrees();  // on the stage's own nodes
  const net::Cluster& cluster = parts.of(stage).cluster;
  const int domain = cluster.links.gpus, pipeline = job.parallelism.pipeline;
  const StageSplit& split = seen.busiest;
  const auto collective_links = [&](net::RankRow row) { return net::collective_links(cluster, degrees, row); };
  std::vector<GroupTraffic> all;
  const auto start = [&](std::string_view group, std::string_view what, const GroupShape& shape, const NodeLinks& links,
                         des::Duration exposed) {
    return GroupTraffic{{.what = what}, group, shape, links, des::to_seconds(exposed), {}};
  };
  if (degrees.tensor > 1) {
    all.push_back(start("tensor-parallel", "activations and their gradients inside layers",
                        net::tensor_group(degrees, domain), collective_links(net::tensor_row(degrees)),
                        split.tensor_comm));
    add_passes(all.back(), OpStream::kTensorComm, stage, step);
  }
  if (degrees.context > 1) {
    all.push_back(start("context-parallel", "keys, values and their gradients", net::context_group(degrees, domain),
                        collective_links(net::context_row(degrees)), split.context_comm));
    add_passes(all.back(), OpStream::kContextComm, stage, step);
  }
  if (pipeline > 1) {
    const int next = (stage + 1) % pipeline;
    const bool crosses =
        &parts.of(next) != &parts.of(stage) || net::pipeline_hop_crosses_nodes(degrees, domain, parts.local(stage));
    all.push_back(start("pipeline", "activations and gradients between stages",
                        {.ranks = pipeline,
                         .nodes = crosses ? pipeline : 1,
                         .ranks_per_node = crosses ? 1 : pipeline,
                         .groups_per_node = net::pipeline_senders_per_node(degrees, domain)},
                        net::message_links(cluster, degrees, net::pipeline_row(degrees)), split.pipeline_comm));
    add_messages(all.back(), stage, step, run);
  }
  if (degrees.data * degrees.context > 1) {
    all.push_back(start("data-parallel", job.optimizer.zero_stage >= 1 ? "gradients and parameters" : "gradients",
                        net::gradient_group(degrees, domain), collective_links(net::gradient_row(degrees)),
                        split.data_comm));
    add_replicas(all.back(), stage, step.workload, run);
  }
  return all;
}

}  // namespace foretoken::observe

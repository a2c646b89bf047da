// Collectives inside passes are counted block by block; messages and the collectives of the step's end task by task.
#include "sim/observe/communication.h"

#include "sim/job/parts.h"
#include "sim/net/cables.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/replicas/lower_sharded.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::observe {
namespace {

using step::Meaning;
using step::OpStream;
using step::TaskMeaning;

void add_passes(GroupTraffic& traffic, OpStream stream, int stage, const step::LoweredStep& step) {
  for (const step::PassTasks& pass : step.workload.passes[static_cast<std::size_t>(stage)])
    for (const step::TimedOps* block : step.passes->blocks(stage, pass.op.chunk.number(), pass.op.kind))
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

// What one micro-batch, or one step, reduces and gathers of a stage's parameters.
struct ReplicaSizes {
  Bytes reduced, gathered;
};

// Each parameter once: gradients out, parameters in. Where gradients are sharded they are reduced in every micro-batch,
// and where parameters are sharded they are gathered in every micro-batch as often as they are dropped.
ReplicaSizes replica_sizes(const job::Job& job, int stage) {
  const double parameters = step::local_stage_parameters(job, stage);
  const Bytes gradients(parameters * step::gradient_element_bytes(job));
  if (!job.optimizer.shards_gradients()) return {gradients, Bytes(parameters * job.recipe.weight_bytes)};
  const double batches = job.microbatches(), gathered = step::gathered_parameters(job);
  return {batches * gradients, Bytes((gathered > 0 ? batches * gathered : parameters) * job.recipe.weight_bytes)};
}

// Operations of one kind that `stage` takes part in; `payload` is their size, if there is any.
Traffic replica_traffic(std::string_view what, TaskMeaning kind, int stage, Bytes payload,
                        const step::LoweredStep& step, const des::RunResult& run) {
  const int last = static_cast<int>(step.workload.stages.size()) - 1;
  Traffic traffic{.what = what};
  for (std::size_t task = 0; task < step.workload.meaning.size(); ++task) {
    const Meaning& meaning = step.workload.meaning[task];
    if (meaning.kind != kind) continue;
    const bool takes_part = kind == TaskMeaning::kEmbeddingTie ? stage == 0 || stage == last : meaning.stage == stage;
    if (!takes_part) continue;
    ++traffic.operations;
    traffic.time += span_of(task, run);
  }
  if (traffic.operations > 0) traffic.payload = payload;
  return traffic;
}

void add_replicas(GroupTraffic& traffic, int stage, const job::Job& job, const step::LoweredStep& step,
                  const des::RunResult& run) {
  const ReplicaSizes sizes = replica_sizes(job, stage);
  const Bytes table(step::local_token_table(job) * step::gradient_element_bytes(job));
  const bool scatters = job.optimizer.zero_stage >= 1;
  for (const Traffic& part :
       {replica_traffic(scatters ? "gradients: reduce-scatter" : "gradients: all-reduce", TaskMeaning::kGradReduce,
                        stage, sizes.reduced, step, run),
        replica_traffic("parameters: all-gather", TaskMeaning::kParamGather, stage, sizes.gathered, step, run),
        replica_traffic("gradient of the tied embedding: all-reduce of first and last stage",
                        TaskMeaning::kEmbeddingTie, stage, table, step, run)}) {
    if (part.operations == 0) continue;
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
    add_replicas(all.back(), stage, job, step, run);
  }
  return all;
}

}  // namespace foretoken::observe

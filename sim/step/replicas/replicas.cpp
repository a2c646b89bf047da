// Builds the collectives around the passes.
//
// Between nodes of several kinds a collective is as slow as on the slowest kind: it has a site on each.
#include "sim/step/replicas/replicas.h"

#include <algorithm>
#include <span>
#include <vector>

#include "sim/job/layout.h"
#include "sim/net/cables.h"

namespace foretoken::step {
namespace {

// Returns a collective of the ranks of one stage that hold the same weights.
Communication over(AxisSet axes, const job::Job& part, Stage stage, Communication row) {
  row.axes = axes;
  row.counts_for = Axis::kData;
  row.from = row.to = stage;
  row.site = site_of(part, stage, axes);
  const GroupShape& group = row.site.group;
  if (group.nodes == 1) return row;
  row.factor = part.runtime.data_comm_factor;
  if (group.ranks_per_node > 1) row.nics = part.runtime.data_comm_nics;
  return row;
}

// Returns the pairs of ranks on the first and the last stage that share a tied embedding. `mixed` means nodes of
// different kinds.
GroupShape tied_pair(const job::Job& part, bool mixed) {
  const int domain = part.cluster.links.gpus;
  const bool crosses = mixed || part.gpus > domain;
  return {.ranks = 2,
          .nodes = crosses ? 2 : 1,
          .ranks_per_node = crosses ? 1 : 2,
          .groups_per_node = std::min(domain, part.grid().stage_ranks())};
}

// Adds a site on the nodes of each kind. `group` and `links` describe the ranks there.
template <class Group, class Links>
void add_sites(Communication& to, const job::Parts& parts, std::span<const Stage> stages, const Group& group,
               const Links& links) {
  for (const Stage stage : stages) {
    const job::Job& part = parts.of(stage);
    Site site{stage, group(part), links(part)};
    if (stage == stages.front()) {
      to.site = site;
    } else {
      to.other_sites.push_back(site);
    }
  }
}

// Returns the first stage on nodes of each kind.
std::vector<Stage> first_stages(const job::Parts& parts) {
  std::vector<Stage> stages;
  int before = 0;
  for (const job::Job* part : parts.all()) {
    stages.push_back(id_of<Stage>(before));
    before += part->parallelism.pipeline;
  }
  return stages;
}

int nodes_of(const job::Job& part) {
  const int domain = part.cluster.links.gpus;
  return (part.gpus + domain - 1) / domain;
}

}  // namespace

GroupShape replica_group(const job::Job& job) { return job.grid().shape(net::kReplicaAxes, job.cluster.links.gpus); }

namespace {

Communication reduction(AxisSet axes, const job::Job& part, Stage stage, double parameters) {
  const bool shared = part.optimizer.zero_stage >= 1;
  return over(axes, part, stage,
              {.name = "reduce gradients",
               .purpose = Purpose::kGradients,
               .collective = shared ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
               .payload = Bytes(parameters * part.recipe.reduce_bytes)});
}

Communication gather(AxisSet axes, const job::Job& part, Stage stage, double parameters) {
  return over(axes, part, stage,
              {.name = "gather parameters",
               .purpose = Purpose::kParameters,
               .collective = CollectiveKind::kAllGather,
               .payload = Bytes(parameters * part.recipe.weight_bytes)});
}

}  // namespace

Communication gradient_reduction(const job::Job& part, Stage stage, double parameters) {
  return reduction(net::kReplicaAxes, part, stage, parameters);
}

Communication expert_gradient_reduction(const job::Job& part, Stage stage, double parameters) {
  return reduction(Axis::kExpertData, part, stage, parameters);
}

Communication parameter_gather(const job::Job& part, Stage stage, double parameters) {
  return gather(net::kReplicaAxes, part, stage, parameters);
}

Communication expert_parameter_gather(const job::Job& part, Stage stage, double parameters) {
  return gather(Axis::kExpertData, part, stage, parameters);
}

Communication norm_reduction(const job::Job& part, Stage stage, int layers) {
  const double elements =
      layers * 2.0 * (part.model.norm == model::Norm::kLayerNorm ? 2 : 1) * static_cast<double>(part.model.hidden);
  return {.name = "reduce gradients",
          .purpose = Purpose::kNormGradients,
          .collective = CollectiveKind::kAllReduce,
          .axes = Axis::kTensor,
          .counts_for = Axis::kTensor,
          .payload = Bytes(elements * part.recipe.reduce_bytes),
          .from = stage,
          .to = stage,
          .site = site_of(part, stage, Axis::kTensor),
          .overhead = part.runtime.tensor_comm_overhead,
          .factor = part.runtime.tensor_comm_factor};
}

Communication tied_embedding_reduction(const job::Job& job, const job::Parts& parts, double table) {
  const Stage first = job::stage_of_embedding(job), last = job::stage_of_head(job);
  Communication row{.name = "reduce tied embedding",
                    .purpose = Purpose::kTiedEmbedding,
                    .collective = CollectiveKind::kAllReduce,
                    .axes = Axis::kPipeline,
                    .counts_for = Axis::kData,
                    .payload = Bytes(table * job.recipe.reduce_bytes),
                    .from = first,
                    .to = last};
  const bool mixed = &parts.of(first) != &parts.of(last);
  std::vector<Stage> stages{first};
  if (mixed) stages.push_back(last);
  add_sites(
      row, parts, stages, [&](const job::Job& part) { return tied_pair(part, mixed); },
      [&](const job::Job& part) { return mixed ? part.cluster.links : net::tied_links(part.cluster, part.grid()); });
  return row;
}

Communication decoder_table_reduction(const job::Job& job, const job::Parts& parts, double table) {
  Communication row = tied_embedding_reduction(job, parts, table);
  row.name = "reduce decoder's token table";
  row.to = job::stage_of_decoder_table(job).value();
  return row;
}

Stage twin_of(const job::Job& job, Stage stage) { return id_of<Stage>(job.parallelism.pipeline - 1 - stage.number()); }

bool twins_on_two_nodes(const job::Job& job, const job::Parts& parts, Stage stage) {
  const Stage twin = twin_of(job, stage);
  const job::Job& part = parts.of(stage);
  if (&part != &parts.of(twin)) return true;
  const net::RankGrid grid = part.grid();
  const int domain = part.cluster.links.gpus;
  for (const StageRank rank : ids<StageRank>(grid.stage_ranks()))
    if (grid.rank_of(parts.local(stage), rank).number() / domain !=
        grid.rank_of(parts.local(twin), rank).number() / domain)
      return true;
  return false;
}

// All ranks of the pipeline are in such a pair, so all GPUs of a node share its NICs.
Communication copy_reduction(const job::Job& job, const job::Parts& parts, Stage stage, double parameters) {
  const Stage twin = twin_of(job, stage);
  Communication row{.name = "reduce both copies",
                    .purpose = Purpose::kCopyGradients,
                    .collective = CollectiveKind::kAllReduce,
                    .axes = Axis::kPipeline,
                    .counts_for = Axis::kData,
                    .payload = Bytes(parameters * job.recipe.reduce_bytes),
                    .from = stage,
                    .to = twin};
  const bool mixed = &parts.of(stage) != &parts.of(twin);
  const bool crosses = twins_on_two_nodes(job, parts, stage);
  if (crosses) row.factor = job.runtime.data_comm_factor;
  std::vector<Stage> stages{stage};
  if (mixed) stages.push_back(twin);
  add_sites(
      row, parts, stages,
      [&](const job::Job& part) {
        const int gpus = std::min(part.cluster.links.gpus, part.gpus);
        return GroupShape{.ranks = 2,
                          .nodes = crosses ? 2 : 1,
                          .ranks_per_node = crosses ? 1 : 2,
                          .groups_per_node = crosses ? gpus : gpus / 2};
      },
      [&](const job::Job& part) {
        return crosses ? part.cluster.links : net::collective_links(part.cluster, part.grid().groups(Axis::kPipeline));
      });
  return row;
}

Communication gradient_norm(const job::Job& job, const job::Parts& parts) {
  Communication row{.name = "gradient norm",
                    .purpose = Purpose::kGradientNorm,
                    .collective = CollectiveKind::kAllReduce,
                    .axes = net::kDenseAxes,
                    .payload = Bytes(4),
                    .all_stages = true};
  int nodes = 0;
  for (const job::Job* part : parts.all()) nodes += nodes_of(*part);
  add_sites(
      row, parts, first_stages(parts),
      [&](const job::Job& part) {
        return GroupShape{.ranks = job.gpus,
                          .nodes = nodes,
                          .ranks_per_node = std::min(part.cluster.links.gpus, part.gpus),
                          .groups_per_node = 1};
      },
      [](const job::Job& part) { return net::collective_links(part.cluster, part.grid().groups(net::kDenseAxes)); });
  return row;
}

}  // namespace foretoken::step

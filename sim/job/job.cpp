// How layers are dealt to stages, and what one layer of a scenario looks like.
#include "sim/job/job.h"

#include <cstddef>
#include <numeric>

#include "sim/base/check.h"

namespace foretoken::job {
namespace {

using Dealt = std::vector<std::vector<int>>;

/// The user's number of layers for each stage, cut evenly into the stage's chunks.
std::optional<Dealt> deal_as_stated(std::int64_t layers, const Parallelism& parallelism) {
  const std::vector<int>& stated = parallelism.layers_per_stage;
  const std::int64_t sum = std::accumulate(stated.begin(), stated.end(), std::int64_t{0});
  if (static_cast<int>(stated.size()) != parallelism.pipeline || sum != layers) return std::nullopt;
  Dealt dealt;
  const int chunks = parallelism.virtual_pipeline;
  for (const int of_stage : stated) {
    if (of_stage < chunks || of_stage % chunks != 0) return std::nullopt;
    dealt.emplace_back(chunks, of_stage / chunks);
  }
  return dealt;
}

// The number of the box that a GPU is in, counted group by group; size(cluster) GPUs fill one.
template <class Size>
int box_of(const Job& job, int gpu, const Size& size) {
  int before = 0;
  for (const StageGroup& group : job.groups) {
    const int there = group.stages * (job.gpus / job.parallelism.pipeline), box = size(group.cluster);
    if (gpu < there) return before + gpu / box;
    gpu -= there;
    before += (there + box - 1) / box;
  }
  return before + gpu / size(job.cluster);
}

}  // namespace

std::optional<Dealt> deal_layers(std::int64_t layers, const Parallelism& parallelism) {
  expects(parallelism.pipeline > 0 && parallelism.virtual_pipeline > 0, "degrees are positive");
  if (!parallelism.layers_per_stage.empty()) return deal_as_stated(layers, parallelism);

  // Megatron's account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split: both count as a layer.
  const std::int64_t extra = parallelism.embedding_and_head_as_layers ? 1 : 0;
  const std::int64_t chunks = std::int64_t{parallelism.pipeline} * parallelism.virtual_pipeline;
  const std::int64_t share = (layers + 2 * extra) / chunks;
  const bool even = (layers + 2 * extra) % chunks == 0;
  const std::int64_t smallest = share - (chunks == 1 ? 2 * extra : extra);
  if (!even || smallest < 1) return std::nullopt;
  Dealt dealt(static_cast<std::size_t>(parallelism.pipeline),
              std::vector<int>(static_cast<std::size_t>(parallelism.virtual_pipeline), static_cast<int>(share)));
  dealt.front().front() -= static_cast<int>(extra);
  dealt.back().back() -= static_cast<int>(extra);
  return dealt;
}

model::LayerContext Job::layer_context() const {
  return {.sequence = batch.sequence_length,
          .micro_batch = batch.micro,
          .tensor = parallelism.tensor,
          .context = parallelism.context,
          .sequence_parallel = parallelism.sequence_parallel,
          .exchange = parallelism.context_exchange,
          .attention = attention,
          .flash_kernel = flash_kernel,
          .precision = precision,
          .fp8_recipe = recipe.fp8,
          .fusions = {.cross_entropy = runtime.fused_cross_entropy || runtime.compiled_cross_entropy,
                      .compiled_cross_entropy = runtime.compiled_cross_entropy},
          .pads_vocabulary = runtime.pads_vocabulary,
          .fused_accumulation = runtime.fused_accumulation,
          .gradient_accumulation_bytes = runtime.gradient_accumulation_bytes,
          .overlap_backward_collectives = runtime.overlap_backward_collectives,
          .overlap_forward_collectives = overlap.tensor_parallel};
}

std::size_t Job::group_of(int stage) const {
  std::size_t group = 0;
  for (; stage >= groups.at(group).stages; ++group) stage -= groups[group].stages;
  return group;
}

int Job::node_of(int gpu) const {
  return box_of(*this, gpu, [](const net::Cluster& kind) { return kind.links.gpus; });
}

int Job::host_of(int gpu) const {
  return box_of(*this, gpu, [](const net::Cluster& kind) { return kind.gpus_per_node; });
}

FlopPerSecond Job::mean_peak() const {
  FlopPerSecond sum;
  for (int stage = 0; stage < parallelism.pipeline; ++stage) {
    const auto peak = cluster_of(stage).gpu.peak_of(precision);
    expects(peak.has_value(), "a checked scenario uses a precision of its GPUs");
    if (groups.empty()) return *peak;
    sum += *peak;
  }
  return sum / static_cast<double>(parallelism.pipeline);
}

std::string Job::gpu_names() const {
  if (groups.empty()) return cluster.gpu.name;
  std::string names;
  for (const StageGroup& group : groups)
    if (names.find(group.cluster.gpu.name) == std::string::npos)
      names += (names.empty() ? "" : " and ") + group.cluster.gpu.name;
  return names;
}

schedule::PipelineShape pipeline_shape(const Job& job) {
  return {.stages = job.parallelism.pipeline,
          .microbatches = job.microbatches(),
          .chunks = job.parallelism.virtual_pipeline,
          .group = job.batch.microbatch_group};
}

int Job::layers_in(int stage, int chunk) const {
  // The same rule as deal_layers, for one chunk: this is asked for every stage of a long pipeline.
  const int chunks = parallelism.virtual_pipeline;
  if (!parallelism.layers_per_stage.empty())
    return parallelism.layers_per_stage.at(static_cast<std::size_t>(stage)) / chunks;
  const std::int64_t extra = parallelism.embedding_and_head_as_layers ? 1 : 0;
  const std::int64_t all = std::int64_t{parallelism.pipeline} * chunks;
  expects((model.layers + 2 * extra) % all == 0, "the layers of a scenario can be dealt out; reading it checks that");
  std::int64_t layers = (model.layers + 2 * extra) / all;
  if (stage == 0 && chunk == 0) layers -= extra;
  if (stage == parallelism.pipeline - 1 && chunk == chunks - 1) layers -= extra;
  return static_cast<int>(layers);
}

}  // namespace foretoken::job

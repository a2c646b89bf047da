// Computes values that follow from the fields of a job.
#include "sim/job/job.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"

namespace foretoken::job {
namespace {

// Returns the number of the box that a GPU is in, counted group by group. size(cluster) GPUs fill one box.
template <class Size>
int box_of(const Job& job, Gpu gpu, const Size& size) {
  int before = 0, left = gpu.number();
  for (const StageGroup& group : job.groups) {
    const int there = group.stages * (job.gpus / job.parallelism.pipeline), box = size(group.cluster);
    if (left < there) return before + left / box;
    left -= there;
    before += (there + box - 1) / box;
  }
  return before + left / size(job.cluster);
}

}  // namespace

// Half of the stages is the default of NeMo's recipes (pipeline_model_parallel_split_rank, NeMo-Framework-Launcher,
// launcher_scripts/conf/training/t5). A list of layers says itself where the encoder ends.
int encoder_stages(const Parallelism& parallelism) {
  if (parallelism.encoder_layers == 0 || parallelism.pipeline == 1) return 0;
  if (parallelism.encoder_pipeline) return *parallelism.encoder_pipeline;
  if (parallelism.layers_per_stage.empty()) return parallelism.pipeline / 2;
  std::int64_t layers = 0;
  int stages = 0;
  for (const int of_stage : parallelism.layers_per_stage) {
    if (layers >= parallelism.encoder_layers) break;
    layers += of_stage;
    ++stages;
  }
  return stages;
}

PerAxis<int> degrees_of(const Parallelism& parallelism) {
  PerAxis<int> degrees(1);
  for (const auto& [axis, degree] : kDegrees) degrees[axis] = parallelism.*degree;
  for (const auto& [axis, degree] : kExpertDegrees) degrees[axis] = parallelism.*degree;
  return degrees;
}

std::string_view name_of(CudaGraphs graphs) {
  switch (graphs) {
    case CudaGraphs::kNone:
      return "none";
    case CudaGraphs::kLayer:
      return "layer";
    case CudaGraphs::kFull:
      return "full";
  }
  return "";
}

std::string_view Job::precision_name() const { return uses_mxfp8() ? "mxfp8" : name_of(precision); }

namespace {

// PyTorch's compiler fuses everything that eager code runs as kernels of their own.
model::Fusions fusions_of(const Job& job) {
  model::Fusions fusions = job.compile ? model::Fusions{} : job.runtime.fusions;
  fusions.compiled_cross_entropy =
      job.runtime.compiled_cross_entropy || (job.compile && !job.runtime.fused_cross_entropy);
  fusions.cross_entropy = job.runtime.fused_cross_entropy || fusions.compiled_cross_entropy;
  return fusions;
}

// With ZeRO stage 3 the gathered weights have 16 bits.
bool autocasts(const Job& job) {
  return job.runtime.autocast && job.recipe.weight_bytes > 2 && !is_wide(job.precision) && job.optimizer.zero_stage < 3;
}

// Userbuffers change times only where a runtime states their gain.
model::TensorOverlap tensor_overlap_of(const Job& job) {
  using enum model::TensorOverlap;
  const model::TensorOverlap way = job.runtime.tensor_overlap;
  const bool is_free = way == kUserbuffers && !job.runtime.userbuffers_gain;
  return job.overlap.tensor_parallel && !is_free ? way : kNone;
}

bool multiplies_int8(const Job& job) {
  const auto has_law = [](const cost::Profile& profile) { return profile.gemm.contains(Precision::kInt8); };
  return job.groups.empty() ? has_law(job.profile)
                            : std::all_of(job.groups.begin(), job.groups.end(),
                                          [&](const StageGroup& one) { return has_law(one.profile); });
}

// Gradients of 32 bits are added without a cast: 12 bytes, as of 16-bit elements.
constexpr double kWideAccumulation = 6;

}  // namespace

bool Job::compiles_layers() const { return compile || runtime.compiled_layers; }

model::LayerContext Job::layer_context() const {
  return {.sequence = batch.sequence_length,
          .other_sequence = batch.decoder_sequence_length.value_or(0),
          .micro_batch = batch.micro,
          .packed = batch.packed.value_or(0),
          .tensor = parallelism.tensor,
          .context = parallelism.context,
          .sequence_parallel = parallelism.sequence_parallel,
          .exchange = parallelism.exchange,
          .attention = attention,
          .flash_kernel = flash_kernel,
          .precision = precision,
          .fp8_recipe = recipe.fp8,
          .fp8_attention = recipe.fp8_attention,
          .int8_products = multiplies_int8(*this),
          .reads_any_layout = cluster.gpu.architecture == "blackwell",
          .fusions = fusions_of(*this),
          .autocast = autocasts(*this),
          .compiled = compiles_layers(),
          .pads_vocabulary = runtime.pads_vocabulary,
          .fused_accumulation = runtime.fused_accumulation,
          .fp32_main_gradients = recipe.gradient_bytes > 2,
          .gradient_accumulation_bytes = is_wide(precision) ? kWideAccumulation : runtime.gradient_accumulation_bytes,
          .overlap_backward_collectives = runtime.overlap_backward_collectives,
          .tensor_overlap = tensor_overlap_of(*this),
          .experts = {.expert = parallelism.expert,
                      .expert_tensor = parallelism.expert_tensor,
                      .dispatcher = routing.dispatcher,
                      .capacity_factor = routing.capacity_factor,
                      .imbalance = routing.imbalance_in_times(),
                      .shared_overlap = routing.shared_expert_overlap}};
}

double Job::imbalance_at_peak() const {
  if (routing.imbalance || routing.capacity_factor || !model.experts) return routing.imbalance_in_times();
  return std::min(kUnstatedImbalance, model::most_imbalance(*model.experts, parallelism.expert));
}

model::LayerContext Job::layer_context_at_peak() const {
  model::LayerContext context = layer_context();
  context.experts.imbalance = imbalance_at_peak();
  return context;
}

std::size_t Job::group_of(Stage stage) const {
  std::size_t group = 0;
  for (int left = stage.number(); left >= groups.at(group).stages; ++group) left -= groups[group].stages;
  return group;
}

NodeId Job::node_of(Gpu gpu) const {
  return id_of<NodeId>(box_of(*this, gpu, [](const net::Cluster& kind) { return kind.links.gpus; }));
}

HostId Job::host_of(Gpu gpu) const {
  return id_of<HostId>(box_of(*this, gpu, [](const net::Cluster& kind) { return kind.gpus_per_node; }));
}

FlopPerSecond Job::mean_peak() const {
  FlopPerSecond sum;
  for (const Stage stage : ids<Stage>(parallelism.pipeline)) {
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

bool experts_have_own_grid(const Job& job) {
  const Parallelism& degrees = job.parallelism;
  return job.model.experts && (degrees.expert > 1 || degrees.expert_tensor != degrees.tensor);
}

schedule::PipelineShape pipeline_shape(const Job& job) {
  return {.stages = job.parallelism.pipeline,
          .microbatches = job.microbatches(),
          .chunks = job.parallelism.virtual_pipeline,
          .group = job.batch.microbatch_group.value_or(0)};
}

schedule::Placement placement_of(const Job& job) { return placement_of(job.schedule, pipeline_shape(job)); }

}  // namespace foretoken::job

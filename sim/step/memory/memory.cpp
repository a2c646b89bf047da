// Bytes per stage from the parameter recipe, the recompute mode and the ends of the pipeline.
//
// The first chunk of the first stage also holds the embedding, the last chunk of the last stage final norm, head and
// loss. A tied embedding lives on both when they are different GPUs (Megatron-LM, megatron/core/models/common/
// language_module). Gradients and optimizer states are shared over data x context ranks.
#include "sim/step/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/check.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

/// cuBLAS workspace of Transformer Engine: TransformerEngine@d0067d0, pytorch/cpp_extensions/gemm.py,
/// get_cublas_workspace_size_bytes.
constexpr double kWorkspaceHopper = 32 * kMiB + 1024;
constexpr double kWorkspaceBefore = 4 * kMiB;

/// Buffers that no formula here names, as left between steps: memory allocated after a step less states and workspace
/// is 67 MB and 70 MB in Megatron-LM's golden values gpt3_7b_tp1_pp4_memory_speed (less one head gradient) and
/// gpt3_7b_tp4_pp1_memory_speed (tests/functional_tests at d98e8a6).
constexpr double kSmallBuffers = 68e6;

/// CUDA context and kernels: 0.47 to 0.92 GiB with torch 2.1; torch.distributed and NCCL: one to two GiB more.
/// Source: stas00/ml-engineering@744d01e, training/performance/README.
constexpr double kContext = 0.7 * kGiB;
constexpr double kNccl = 1.0 * kGiB;

bool holds_embedding(int stage, int chunk) { return stage == 0 && chunk == 0; }

bool holds_head(const job::Job& s, int stage, int chunk) {
  return stage == s.parallelism.pipeline - 1 && chunk == s.parallelism.virtual_pipeline - 1;
}

int layers_of(const job::Job& s, int stage) {
  int layers = 0;
  for (int chunk = 0; chunk < s.parallelism.virtual_pipeline; ++chunk) layers += s.layers_in(stage, chunk);
  return layers;
}

/// Transformer Engine keeps one 16-bit placeholder for each distinct shape of weight whose gradient its GEMM adds to
/// the main gradient (module/base.py, get_dummy_wgrad).
double gradient_placeholders(const job::Job& s) {
  const bool fused = s.runtime.transformer_engine && s.runtime.fused_accumulation && s.optimizer.zero_stage < 2;
  if (!fused) return 0;
  const auto& m = s.model;
  const std::int64_t t = s.parallelism.tensor;
  const std::set<std::pair<std::int64_t, std::int64_t>> shapes = {
      {(m.heads + 2 * m.kv_heads) * m.head_dim / t, m.hidden},
      {m.hidden, m.heads * m.head_dim / t},
      {(m.mlp_matrices() - 1) * m.ffn_hidden / t, m.hidden},
      {m.hidden, m.ffn_hidden / t}};
  double elements = 0;
  for (const auto& [rows, columns] : shapes) elements += real(rows) * real(columns);
  return 2 * elements;
}

/// Transformer Engine keeps an 8-bit copy and its transpose of every weight that fp8 products read, from the first
/// micro-batch on (module/base.py, get_weight_workspace); of weights held in 8 bit the transpose only. MXFP8 copies
/// hold both directions as well.
double quantised_weights(const job::Job& s, int stage) {
  if (s.precision != Precision::kFp8 || s.optimizer.zero_stage >= 3) return 0;
  const double copies = s.recipe.weight_bytes > 1 ? 2 : 1;
  return copies * layers_of(s, stage) * model::layer_matmul_parameters(s.model) / s.parallelism.tensor;
}

double workspace(const job::Job& s, int stage) {
  const auto& architecture = s.cluster_of(stage).gpu.architecture;
  return architecture == "hopper" || architecture == "blackwell" ? kWorkspaceHopper : kWorkspaceBefore;
}

/// What recomputation stores and recomputes at once, of one chunk.
struct Recomputed {
  double stored = 0;     ///< bytes kept for the chunk's layers
  double transient = 0;  ///< the most alive on top in a layer's backward pass
};

Recomputed layers_memory(const job::Job& s, double layers) {
  using model::RecomputeGranularity;
  const auto context = s.layer_context();
  const auto stored = [&](RecomputeGranularity granularity) {
    return model::layer_activation_bytes(s.model, context, granularity, s.recompute.modules).value();
  };
  const auto transient = [&](RecomputeGranularity granularity) {
    return model::layer_backward_transient_bytes(s.model, context, granularity, s.recompute.modules).value();
  };
  const auto granularity = s.recompute.granularity;
  if (layers == 0) return {};
  if (granularity != RecomputeGranularity::kFull) return {layers * stored(granularity), transient(granularity)};

  const double whole = stored(RecomputeGranularity::kNone), input = stored(RecomputeGranularity::kFull);
  expects(s.recompute.layers >= 1, "recomputation groups at least one layer");
  const double group = std::min<double>(s.recompute.layers, layers);
  if (s.recompute.block) return {group * input + (layers - group) * whole, transient(RecomputeGranularity::kFull)};
  const double groups = std::ceil(layers / group);
  return {groups * input, transient(RecomputeGranularity::kFull) + (group - 1) * whole};
}

/// Bytes that sharding needs beyond the shards: what is gathered, and gradients that wait for their reduction.
struct Working {
  double weights = 0, gradients = 0;
};

/// Elements of the largest matrix of a layer on one tensor rank.
double largest_matrix(const job::Job& s) {
  const auto& m = s.model;
  const std::int64_t rows = std::max((m.heads + 2 * m.kv_heads) * m.head_dim, (m.mlp_matrices() - 1) * m.ffn_hidden);
  return real(rows) * real(m.hidden) / s.parallelism.tensor;
}

Working working_set(const job::Job& s, int stage) {
  const auto& recipe = s.recipe;
  const double parameters = local_stage_parameters(s, stage), layer = local_layer_parameters(s);
  const double gradient = recipe.gradient_bytes + recipe.extra_gradient_bytes;
  const int zero = s.optimizer.zero_stage;
  if (zero < 2) return {};
  if (s.runtime.fully_sharded) {
    // Two layers are gathered beside the root, which stays (all of them with ZeRO-2). Gradients are 16 bit until their
    // unit is complete, and cast when they are reduced in 32 bit.
    const double root = parameters - layer * layers_of(s, stage);
    const double gathered = zero == 3 ? std::min(root + 2 * layer, parameters) : parameters;
    const double element = gradient_element_bytes(s);
    return {recipe.weight_bytes * gathered, 2 * root + (2 + (element > 2 ? element : 0)) * layer};
  }
  // DeepSpeed: gathered weights up to stage3_max_live_parameters, a billion, or a matrix if that is larger, but no more
  // than two layers; 16-bit gradients of one matrix. ZeRO-2: one bucket of gradients.
  constexpr double kMaxLive = 1e9;
  const double matrix = largest_matrix(s);
  if (zero == 2) return {0, gradient * std::min(gradient_bucket_parameters(replica_group(s).ranks), parameters)};
  return {recipe.weight_bytes * std::min({std::max(kMaxLive, matrix), 2 * layer, parameters}), 2 * matrix};
}

}  // namespace

StaticMemory static_memory(const job::Job& job, int stage) {
  const auto& recipe = job.recipe;
  const int zero = job.optimizer.zero_stage;
  const double ranks = static_cast<double>(job.parallelism.data) * job.parallelism.context;
  const double parameters = local_stage_parameters(job, stage);
  const auto share = [&](int from_stage) { return zero >= from_stage ? parameters / ranks : parameters; };
  const double gradient = recipe.gradient_bytes + recipe.extra_gradient_bytes;

  const Working working = working_set(job, stage);
  const double placeholders = layers_of(job, stage) > 0 ? gradient_placeholders(job) : 0;
  const double resident = job.runtime.fully_sharded && zero >= 2 ? 0 : share(3);  // FSDP: the masters are the shards
  return {.weights = Bytes(recipe.weight_bytes * resident + working.weights + quantised_weights(job, stage)),
          .gradients = Bytes(gradient * share(2) + working.gradients),
          .optimizer = Bytes((recipe.master_bytes + recipe.moment_bytes) * share(1)),
          .other = Bytes(placeholders + workspace(job, stage) + kSmallBuffers)};
}

PassMemory pass_memory(const job::Job& job, int stage, int chunk) {
  const auto context = job.layer_context();
  const auto layers = layers_memory(job, job.layers_in(stage, chunk));
  PassMemory pass{.stash = Bytes(layers.stored), .transient = Bytes(layers.transient)};
  if (holds_embedding(stage, chunk)) pass.stash += model::embedding_activation_bytes(job.model, context);
  if (holds_head(job, stage, chunk)) {
    // Head and loss are gone before the layers' backward pass begins.
    const Bytes head = model::head_activation_bytes(job.model, context);
    pass.stash += head;
    pass.transient = std::max(model::loss_transient_bytes(job.model, context), pass.transient - head);
  }
  return pass;
}

Bytes outside_allocator(const job::Job& job) { return Bytes(kContext + (job.gpus > 1 ? kNccl : 0)); }

WholeModelMemory whole_model_memory(const job::Job& job) {
  const auto& recipe = job.recipe;
  const double per_parameter = recipe.weight_bytes + recipe.gradient_bytes + recipe.extra_gradient_bytes +
                               recipe.master_bytes + recipe.moment_bytes;
  const double per_sequence = 2.0 * real(job.batch.sequence_length) * real(job.model.hidden) * real(job.model.layers);
  return {.state = Bytes(per_parameter * model::total_parameters(job.model)),
          .batch_boundaries = Bytes(per_sequence * real(job.batch.global)),
          .microbatch_boundaries = Bytes(per_sequence * real(job.batch.micro))};
}

}  // namespace foretoken::step

// Bytes per stage, from the parameter recipe, the recompute mode and the ends of the pipeline.
//
// The chunks with the embedding, and with final norm, head and loss, hold more (sim/job/layout.h). A tied embedding
// stands on both when they are different GPUs (Megatron-LM, megatron/core/models/common/language_module). Gradients and
// optimizer states are sharded over data x context ranks, and those of experts over expert-data ranks.
#include "sim/step/memory/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/check.h"
#include "sim/model/counts/matrices.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"
#include "sim/model/quantisation.h"
#include "sim/schedule/async/versions.h"
#include "sim/step/offload/shares.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

/// cuBLAS workspace of Transformer Engine: TransformerEngine@d0067d0, pytorch/cpp_extensions/gemm.py,
/// get_cublas_workspace_size_bytes.
constexpr double kWorkspaceHopper = 32 * kMiB + 1024;
constexpr double kWorkspaceBefore = 4 * kMiB;

/// Buffers that no formula here names, as left between steps. Source: memory allocated after a step less states and
/// workspace is 67 MB and 70 MB in Megatron-LM's golden values gpt3_7b_tp1_pp4_memory_speed (less one head gradient)
/// and gpt3_7b_tp4_pp1_memory_speed (tests/functional_tests at d98e8a6).
constexpr double kSmallBuffers = 68e6;

double workspace(const job::Job& job, Stage stage) {
  const auto& architecture = job.cluster_of(stage).gpu.architecture;
  return architecture == "hopper" || architecture == "blackwell" ? kWorkspaceHopper : kWorkspaceBefore;
}

/// Returns the versions of the weights that each stage keeps in a pipeline without a flush, else nothing.
Table<Stage, int> versions_kept(const job::Job& job) {
  if (!job.schedule.without_flush) return {};
  const schedule::PipelineShape step = job::pipeline_shape(job);
  return schedule::weight_versions(schedule::steady_program(job.schedule, step), *job.schedule.without_flush, step)
      .kept;
}

/// PipeMare corrects for the age of weights by a mean of their changes: one fp32 number a parameter (arXiv:1910.05124,
/// section 3.2, discrepancy correction).
double correction_bytes(const job::Job& job) {
  const auto& rule = job.schedule.without_flush;
  return rule && rule->uses == schedule::WeightUse::kNewest ? 4 : 0;
}

/// Counts the elements of one matrix of each shape.
double elements_of(const std::set<std::pair<std::int64_t, std::int64_t>>& shapes) {
  double elements = 0;
  for (const auto& [rows, columns] : shapes) elements += real(rows) * real(columns);
  return elements;
}

/// Counts layers of all kinds.
double count_of(const std::vector<model::LayerCount>& layers) {
  double count = 0;
  for (const model::LayerCount& run : layers) count += run.count;
  return count;
}

}  // namespace

LayerMemory::LayerMemory(const job::Job& job, Rows rows)
    : LayerMemory(job, rows == Rows::kMean ? job.layer_context() : job.layer_context_at_peak()) {}

LayerMemory::LayerMemory(const job::Job& job, const model::LayerContext& context)
    : LayerMemory(job, context, model::decoder_ops(job.model, context)) {}

LayerMemory::LayerMemory(const job::Job& job, const model::LayerContext& context, const model::DecoderOps& blocks)
    : all(job, blocks, Counted::kAll),
      trained(job, blocks, Counted::kTrained),
      narrow(job, blocks, Counted::kNarrow),
      trains_all(trained == all),
      has_narrow(!narrow.empty()) {
  using model::RecomputeGranularity;
  const auto for_weights = [&](const model::BlockOps& ops) {
    if (!job.schedule.splits_backward) return Bytes(0);
    return model::bytes_for_weight_gradients(model::backward_kernels(ops, context), context.tensor);
  };
  const auto granularity = job.recompute.granularity;
  const auto& modules = job.recompute.modules;
  for (const model::LayerRunOps& run : blocks.layers) {
    const model::BlockOps trained_ops = model::trained_weights(run.ops);
    const double of_experts = job.model.experts ? model::expert_matrix_parameters(run.ops) : 0;
    const auto shapes = model::matrix_shapes(trained_ops, context);
    kinds.push_back({.trained_shapes = shapes,
                     .in_trained_shapes = elements_of(shapes),
                     .matrices = model::matrix_parameters(run.ops) - of_experts,
                     .expert_matrices = of_experts,
                     .largest_matrix = model::largest_matrix(run.ops, context),
                     .largest_trained_matrix = model::largest_matrix(trained_ops, context),
                     .saved = model::saved_bytes(run.ops, RecomputeGranularity::kNone).value(),
                     .input = model::saved_bytes(run.ops, RecomputeGranularity::kFull).value(),
                     .saved_as_asked = model::saved_bytes(run.ops, granularity, modules).value(),
                     .working_as_asked = model::working_bytes(run.ops, granularity, modules).value(),
                     .working_when_recomputed = model::working_bytes(run.ops, RecomputeGranularity::kFull).value(),
                     .for_weights = for_weights(run.ops).value(),
                     .factored = model::factored_moments(run.ops, context),
                     .shared = run.ops.shared_bytes});
  }
  embedding_factored = model::factored_moments(blocks.embedding, context);
  head_factored = model::factored_moments(blocks.head, context);
  embedding_saved = model::saved_bytes(blocks.embedding, RecomputeGranularity::kNone);
  head_saved = model::saved_bytes(blocks.head, RecomputeGranularity::kNone);
  head_working = model::working_bytes(blocks.head, RecomputeGranularity::kNone);
  head_for_weights = for_weights(blocks.head);
}

JobMemory::JobMemory(const job::Job& job, Rows rows) : JobMemory(job, std::make_shared<const LayerMemory>(job, rows)) {}

JobMemory::JobMemory(const job::Job& job, std::shared_ptr<const LayerMemory> layers)
    : job_(job),
      layout_(job),
      layers_(std::move(layers)),
      parameters_(job, layers_->all),
      trained_(job, layers_->trained),
      narrow_(job, layers_->narrow),
      replicas_(job.grid().degree(net::kReplicaAxes)),
      expert_replicas_(job.grid().degree(Axis::kExpertData)),
      versions_(versions_kept(job)) {}

template <class Value>
double JobMemory::largest(const std::vector<model::LayerCount>& layers, const Value& value) const {
  double most = 0;
  for (const model::LayerCount& run : layers) most = std::max(most, value(run));
  return most;
}

/// Transformer Engine keeps one 16-bit placeholder for each distinct shape of weight whose gradient its GEMM adds to
/// the main gradient (module/base.py, get_dummy_wgrad).
double JobMemory::gradient_placeholders(const std::vector<model::LayerCount>& layers) const {
  const job::Runtime& runtime = job_.runtime;
  if (!runtime.transformer_engine || !runtime.fused_accumulation || job_.optimizer.zero_stage >= 2) return 0;
  if (layers.size() == 1) return 2 * kind(layers.front()).in_trained_shapes;
  std::set<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const model::LayerCount& run : layers)
    shapes.insert(kind(run).trained_shapes.begin(), kind(run).trained_shapes.end());
  return 2 * elements_of(shapes);
}

/// Transformer Engine keeps a quantised copy of every weight that products read, and a transposed one where products
/// need it, from the first micro-batch on (module/base.py, get_weight_workspace). Weights held in 8 bit need no copy
/// but the transposed one.
double JobMemory::quantised_weights(const std::vector<model::LayerCount>& layers) const {
  const model::LayerContext context = job_.layer_context();
  const model::Cut cut(context);
  if (!cut.quantises() || job_.optimizer.zero_stage >= 3) return 0;
  const double copies = (job_.recipe.weight_bytes > 1 ? 1 : 0) + (model::needs_both_directions(cut) ? 1 : 0);
  double elements = 0;
  double experts = 0;
  for (const model::LayerCount& run : layers) {
    elements += copies * cut.element_bytes() * run.count * kind(run).matrices;
    experts += copies * cut.element_bytes() * run.count * kind(run).expert_matrices;
  }
  return elements / job_.parallelism.tensor +
         experts / (static_cast<double>(job_.parallelism.expert) * job_.parallelism.expert_tensor);
}

/// Bytes of weights as they stand in memory. Some of them may be narrower than the job's: NF4 under QLoRA, int8 under
/// LLM.int8().
double JobMemory::weight_bytes(double parameters, double narrow) const {
  return job_.recipe.weight_bytes * (parameters - narrow) + job_.model.tuning.narrow_bytes() * narrow;
}

// Counts the gradients of one bucket, and of a second one of experts that other ranks hold, too.
double JobMemory::largest_buckets(double trained, double of_experts) const {
  const double bucket = gradient_bucket_parameters(replica_group(job_).ranks);
  if (!job::experts_have_own_grid(job_)) return std::min(bucket, trained);
  return std::min(bucket, trained - of_experts) + (expert_replicas_ > 1 ? std::min(bucket, of_experts) : 0);
}

JobMemory::Working JobMemory::working_set(Stage stage, const job::StageContents& contents,
                                          const std::vector<model::LayerCount>& layers) const {
  if (job_.optimizer.zero_stage < 2) return {};
  const auto& recipe = job_.recipe;
  const double parameters = parameters_.of_stage(stage, contents), trained = trained_.of_stage(stage, contents);
  const double layer = largest(layers, [&](const auto& run) { return parameters_.of_layer(run.kind); });
  const double gradient = recipe.gradient_bytes + recipe.extra_gradient_bytes;
  const int zero = job_.optimizer.zero_stage;
  if (job_.runtime.fully_sharded) {
    // Two layers are gathered beside the root, which stays. With ZeRO-2 all layers stay gathered. Gradients are 16 bit
    // until their unit is complete. They are cast when they are reduced in 32 bit.
    const double root = parameters - parameters_.of_layers(layers);
    const double narrow_layer = largest(layers, [&](const auto& run) { return narrow_.of_layer(run.kind); });
    const double narrow = narrow_.of_stage(stage, contents);
    const double narrow_root = narrow - narrow_.of_layers(layers);
    const double all = weight_bytes(parameters, narrow);
    const double gathered =
        zero == 3 ? std::min(weight_bytes(root, narrow_root) + 2 * weight_bytes(layer, narrow_layer), all) : all;
    const double trained_root = trained - trained_.of_layers(layers);
    const double trained_layer = largest(layers, [&](const auto& run) { return trained_.of_layer(run.kind); });
    const double element = recipe.reduce_bytes;
    return {gathered, 2 * trained_root + (2 + (element > 2 ? element : 0)) * trained_layer};
  }
  // DeepSpeed gathers weights up to stage3_max_live_parameters (a billion), or one matrix if that is larger, but at
  // most two layers. It holds 16-bit gradients of one matrix. ZeRO-2 holds one bucket of gradients.
  constexpr double kMaxLive = 1e9;
  const double matrix = largest(layers, [&](const auto& run) { return kind(run).largest_matrix; });
  const double trained_matrix = largest(layers, [&](const auto& run) { return kind(run).largest_trained_matrix; });
  if (zero == 2) return {0, gradient * largest_buckets(trained, trained_.experts_of_stage(contents))};
  return {recipe.weight_bytes * std::min({std::max(kMaxLive, matrix), 2 * layer, parameters}), 2 * trained_matrix};
}

// Adafactor keeps a row and a column of fp32 numbers in the place of a matrix of second moments.
double JobMemory::factored_moments(Stage stage) const {
  if (job_.optimizer.name != "adafactor") return 0;
  double numbers = 0;
  for (const Chunk chunk : ids<Chunk>(job_.parallelism.virtual_pipeline)) {
    const job::ChunkContents contents = layout_.contents(stage, chunk);
    for (const model::LayerCount& run : contents.layers) numbers += run.count * kind(run).factored;
    numbers += (contents.embedding ? layers_->embedding_factored : 0) + (contents.head ? layers_->head_factored : 0);
  }
  constexpr double kNumberBytes = 4;
  return kNumberBytes * numbers / (job_.optimizer.zero_stage >= 1 ? replicas_ : 1);
}

JobMemory::Shards JobMemory::shards_of(Stage stage, const job::StageContents& contents) const {
  const int zero = job_.optimizer.zero_stage;
  struct Count {
    double all, of_experts;
  };
  const auto count = [&](const LocalParameters& counted) {
    return Count{counted.of_stage(stage, contents), counted.experts_of_stage(contents)};
  };
  const auto share = [&](int from_stage, Count of) {
    return zero >= from_stage ? (of.all - of.of_experts) / replicas_ + of.of_experts / expert_replicas_ : of.all;
  };
  const Count all = count(parameters_), trained = layers_->trains_all ? all : count(trained_);
  // FSDP: the fp32 masters are the shards of trained weights. Frozen ones, and all without masters, are shards of their
  // own.
  const bool masters = job_.runtime.fully_sharded && zero >= 2 && job_.recipe.master_bytes > 0;
  const int sharded_from = job_.runtime.fully_sharded ? 2 : 3;
  return {.weights = share(sharded_from, all) - (masters ? share(sharded_from, trained) : 0),
          .gradients = share(2, trained),
          .states = share(1, trained),
          .weights_away = offloaded_share(job_, parameters_, stage, job_.offload.parameters),
          .states_away = offloaded_share(job_, trained_, stage, job_.offload.optimizer)};
}

StaticMemory JobMemory::held(Stage stage, const job::StageContents& contents) const {
  const auto& recipe = job_.recipe;
  const Shards shards = shards_of(stage, contents);
  const double gradient = recipe.gradient_bytes + recipe.extra_gradient_bytes;
  const double gradients = shards.gradients * (streams_gradients(job_) ? 1 - shards.states_away : 1);

  const Working working = working_set(stage, contents, contents.layers);
  const double versions = versions_.empty() ? 1 : versions_[stage];
  const bool shares_narrow = job_.optimizer.zero_stage >= (job_.runtime.fully_sharded ? 2 : 3);
  const double narrow = (layers_->has_narrow ? narrow_.of_stage(stage, contents) : 0) /
                        (shares_narrow ? replicas_ : 1) * (1 - shards.weights_away);
  const double moments = job_.optimizer.paged ? 0 : recipe.moment_bytes;
  return {.weights = Bytes(versions * weight_bytes(shards.weights * (1 - shards.weights_away), narrow) +
                           working.weights + quantised_weights(contents.layers)),
          .gradients = Bytes(gradient * gradients + working.gradients),
          .optimizer = Bytes(
              ((recipe.master_bytes + moments + correction_bytes(job_)) * shards.states + factored_moments(stage)) *
              (1 - shards.states_away)),
          .other = Bytes(gradient_placeholders(contents.layers) + workspace(job_, stage) + kSmallBuffers)};
}

// Gradients wait on the host for the update, whatever place its states have.
Outside JobMemory::outside(Stage stage) const {
  const auto& recipe = job_.recipe;
  const Shards shards = shards_of(stage, layout_.contents(stage));
  Outside outside;
  const auto place = [&](const job::Offloaded& part) -> OutsideMemory& {
    return part.to == job::Tier::kHost ? outside.host : outside.disk;
  };
  const double updated = shards.states * shards.states_away;
  place(job_.offload.optimizer).optimizer =
      Bytes((recipe.master_bytes + recipe.moment_bytes) * updated + factored_moments(stage) * shards.states_away);
  outside.host.gradients = Bytes(recipe.gradient_bytes * updated);
  place(job_.offload.parameters).parameters = Bytes(recipe.weight_bytes * shards.weights * shards.weights_away);
  for (const Chunk chunk : ids<Chunk>(job_.parallelism.virtual_pipeline)) {
    Bytes away;
    for (int layer = 0; layer < layout_.layers(stage, chunk); ++layer)
      away += offloaded_activations(stage, chunk, layer);
    Bytes& most = place(job_.offload.activations).activations;
    most = std::max(most, away);
  }
  return outside;
}

// Returns the bytes that a layer stores for its backward pass.
double JobMemory::stored_by(int kind) const {
  const Kind& one = layers_->kinds[static_cast<std::size_t>(kind)];
  return job_.recompute.granularity == model::RecomputeGranularity::kFull ? one.input : one.saved_as_asked;
}

Bytes JobMemory::offloaded_activations(Stage stage, Chunk chunk, int layer) const {
  const double part = job_.offload.activations.of_layer(layer);
  if (part == 0) return Bytes(0);
  int before = 0;
  for (const model::LayerCount& run : layout_.contents(stage, chunk).layers) {
    if (layer < before + run.count) return Bytes(part * stored_by(run.kind));
    before += run.count;
  }
  return Bytes(0);
}

// Two layers are under way in each direction, on the GPU still or again.
void JobMemory::take_away(PassMemory& pass, Stage stage, Chunk chunk) const {
  if (!job_.offload.activations.any()) return;
  Bytes all, largest_layer;
  for (int layer = 0; layer < layout_.layers(stage, chunk); ++layer) {
    const Bytes away = offloaded_activations(stage, chunk, layer);
    all += away;
    largest_layer = std::max(largest_layer, away);
  }
  pass.stash += -1.0 * all;
  pass.returned = std::min(all, 2 * largest_layer);
  pass.transient += pass.returned;
}

// Full recomputation stores the input of each group of layers, and builds the group's other layers again at once. The
// method block makes groups of one layer, and stores all layers after the first few whole.
PassMemory JobMemory::of_recomputed_layers(const std::vector<model::LayerCount>& layers) const {
  expects(job_.recompute.layers >= 1, "recomputation groups at least one layer");
  const double count = count_of(layers), group = std::min<double>(job_.recompute.layers, count);
  const bool copies = job_.runtime.fully_sharded && job_.optimizer.zero_stage >= 2 && job_.model.tuning.freezes();
  const double input = (copies ? job_.runtime.frozen_input_copies : 1) *
                       largest(layers, [&](const auto& run) { return kind(run).input; });
  const double working = largest(layers, [&](const auto& run) { return kind(run).working_when_recomputed; });
  if (job_.recompute.block) {
    double stored = group * input;
    const auto repeated = job::first_layers(layers, job_.recompute.layers);
    for (std::size_t run = 0; run < layers.size(); ++run) {
      const int whole = layers[run].count - (run < repeated.size() ? repeated[run].count : 0);
      stored += whole * kind(layers[run]).saved;
    }
    return {Bytes(stored), Bytes(working)};
  }
  const double whole = largest(layers, [&](const auto& run) { return kind(run).saved; });
  return {Bytes(std::ceil(count / group) * input), Bytes(working + (group - 1) * whole)};
}

PassMemory JobMemory::of_layers(const std::vector<model::LayerCount>& layers) const {
  if (count_of(layers) == 0) return {};
  if (job_.recompute.granularity == model::RecomputeGranularity::kFull) return of_recomputed_layers(layers);
  double stored = 0;
  for (const model::LayerCount& run : layers) stored += run.count * kind(run).saved_as_asked;
  return {Bytes(stored), Bytes(largest(layers, [&](const auto& run) { return kind(run).working_as_asked; }))};
}

PassMemory JobMemory::of_pass(Stage stage, Chunk chunk, const job::StageContents& of_stage) const {
  const job::ChunkContents& contents = of_stage.chunks[chunk];
  PassMemory pass = of_layers(contents.layers);
  const Bytes of_a_layer = pass.transient;
  for (const model::LayerCount& run : contents.layers) pass.for_weights += Bytes(run.count * kind(run).for_weights);
  pass.stash += Bytes(largest(contents.layers, [&](const auto& run) { return kind(run).shared; }));
  if (contents.embedding) pass.stash += layers_->embedding_saved;
  if (contents.head) {
    // Head and loss are freed before the layers' backward pass begins.
    pass.stash += layers_->head_saved;
    pass.for_weights += layers_->head_for_weights;
    pass.transient = std::max(layers_->head_working, pass.transient - layers_->head_saved);
  }
  take_away(pass, stage, chunk);
  // Gradients grow while activations are freed. They are counted from the start, so activations count beyond them only.
  // When the last layer runs backward, all gradients are there and the head is long freed.
  if (job_.runtime.drops_gradients && job_.parallelism.pipeline == 1 && job_.microbatches() == 1) {
    const Bytes beyond =
        pass.stash + Bytes(working_set(stage, of_stage, contents.layers).gradients) - held(stage, of_stage).gradients;
    const Bytes peak = std::max(beyond + pass.transient, of_a_layer + pass.returned);
    pass.stash = std::max(Bytes(0), beyond);
    pass.transient = peak - pass.stash;
  }
  return pass;
}

Bytes JobMemory::of_update(Stage stage, const job::StageContents& contents) const {
  const double ranks = job_.optimizer.zero_stage >= 1 ? replicas_ : 1;
  const double shorter = job_.recipe.moment_bytes / 8;  // the runtime's number holds for moments of 4 bytes each
  const double updated =
      job::experts_have_own_grid(job_) ? shards_of(stage, contents).states : trained_.of_stage(stage, contents) / ranks;
  return Bytes(job_.runtime.optimizer_working_bytes * shorter * updated);
}

// Chunks that hold the same as the chunk before them take the same.
Table<Chunk, PassMemory> JobMemory::of_passes(Stage stage, const job::StageContents& contents) const {
  Table<Chunk, PassMemory> passes;
  passes.reserve(contents.chunks.size());
  const job::ChunkContents* before = nullptr;
  for (const Chunk chunk : contents.chunks.ids()) {
    const job::ChunkContents& now = contents.chunks[chunk];
    passes.push_back(before != nullptr && *before == now ? passes.back() : of_pass(stage, chunk, contents));
    before = &now;
  }
  return passes;
}

}  // namespace foretoken::step

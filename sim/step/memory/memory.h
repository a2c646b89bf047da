// Memory of one GPU of each pipeline stage: the static bytes, and the bytes that every pass of a chunk adds while it
// runs.
//
// A timeline starts at JobMemory::held().total(). It adds JobMemory::of_pass().stash when a chunk's forward pass of a
// micro-batch starts, and subtracts it when the backward pass ends. In between it is higher by `transient`, at the
// latest during the backward pass. A split backward pass frees `stash` with its first part, but keeps `for_weights`
// until its second part ends. Its highest point is the value that torch.cuda.max_memory_allocated reports; the
// device holds more.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/job/layout.h"
#include "sim/step/memory/parameters.h"

namespace foretoken::step {

/// Bytes that one GPU of a stage holds through the whole step, inside the framework's allocator.
struct StaticMemory {
  Bytes weights;    ///< as the layers use them
  Bytes gradients;  ///< main gradients and, in the 20-byte recipe, their 16-bit copy
  Bytes optimizer;  ///< master weights and moments, over the data-parallel ranks with zero_stage >= 1
  Bytes other;      ///< GEMM workspaces, placeholders of fused weight gradients, small buffers

  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + other; }
};

/// Bytes of one GPU of a stage that stand outside it, in one place.
struct OutsideMemory {
  Bytes parameters, gradients, optimizer, activations;

  [[nodiscard]] Bytes total() const { return parameters + gradients + optimizer + activations; }
};

/// The bytes outside a GPU of a stage. Activations are those of one micro-batch through one chunk, the largest.
struct Outside {
  OutsideMemory host, disk;
};

/// Bytes that the passes of one micro-batch through one chunk add.
struct PassMemory {
  Bytes stash;      ///< kept from the forward pass until the backward pass ends
  Bytes transient;  ///< most bytes on top at any moment: gradients, recomputed tensors, logits
  /// Kept instead of `stash` between both parts of a split backward pass; zero where the schedule does not split it.
  Bytes for_weights = {};
  Bytes returned = {};  ///< part of `transient`: offloaded activations that are back, freed as the pass goes on
};

/// The memory of a GPU of a stage: held(), of_passes() and of_update() of JobMemory.
struct StageMemory {
  StaticMemory held;
  Table<Chunk, PassMemory> passes;
  Bytes update;
};

/// The model as a whole, however it is cut.
struct WholeModelMemory {
  Bytes state;                  ///< parameters times the bytes per parameter of the recipe, without sharding
  Bytes batch_boundaries;       ///< input of every layer, 2 s b h, for the global batch at once
  Bytes microbatch_boundaries;  ///< the same for one micro-batch
};

/// The micro-batch whose rows the experts of a rank hold: the one that takes the most memory, or the mean one.
enum class Rows : std::uint8_t { kAtPeak, kMean };

/// Parameters and bytes of the layers of a job, wherever they stand. Jobs that execute their layers alike share them:
/// those of one question with equal fast::layer_key() and equal schedule::Schedule::splits_backward.
struct LayerMemory {
  /// Counts of one kind of layer on one tensor rank.
  struct Kind {
    std::set<std::pair<std::int64_t, std::int64_t>> trained_shapes;  ///< of matrices with gradients
    double in_trained_shapes = 0;                                    ///< elements of one matrix of each such shape
    double matrices = 0, expert_matrices = 0;               ///< elements of all, and of experts, before they are cut
    double largest_matrix = 0, largest_trained_matrix = 0;  ///< elements
    double saved = 0, input = 0,
           saved_as_asked = 0;  ///< bytes without recomputation, with full, and with the job's recomputation
    double working_as_asked = 0, working_when_recomputed = 0;  ///< bytes with the job's and with full recomputation
    double for_weights = 0;                                    ///< bytes that weight gradients wait with
    double factored = 0;                                       ///< numbers of factored second moments
    double shared = 0;                                         ///< bytes that a chunk keeps once for its layers
  };
  explicit LayerMemory(const job::Job& job, Rows rows = Rows::kAtPeak);

  BlockParameters all, trained, narrow;
  bool trains_all = true;   ///< `trained` is `all`
  bool has_narrow = false;  ///< otherwise `narrow` counts nothing
  std::vector<Kind> kinds{};
  double embedding_factored = 0, head_factored = 0;
  Bytes embedding_saved{}, head_saved{}, head_working{}, head_for_weights{};

 private:
  LayerMemory(const job::Job& job, const model::LayerContext& context);
  LayerMemory(const job::Job& job, const model::LayerContext& context, const model::DecoderOps& blocks);
};

/// Memory of a job's GPUs. It counts the job's layers once. The job must outlive this object.
class JobMemory {
 public:
  explicit JobMemory(const job::Job& job, Rows rows = Rows::kAtPeak);
  /// The same of layers that are counted already.
  JobMemory(const job::Job& job, std::shared_ptr<const LayerMemory> layers);

  [[nodiscard]] StaticMemory held(Stage stage) const { return held(stage, layout_.contents(stage)); }
  [[nodiscard]] Outside outside(Stage stage) const;
  /// Returns the bytes of a layer, numbered in its chunk, that leave the GPU after its forward pass.
  [[nodiscard]] Bytes offloaded_activations(Stage stage, Chunk chunk, int layer) const;
  [[nodiscard]] PassMemory of_pass(Stage stage, Chunk chunk) const {
    return of_pass(stage, chunk, layout_.contents(stage));
  }
  /// Returns the short-lived bytes of the optimizer step, when no pass runs.
  [[nodiscard]] Bytes of_update(Stage stage) const { return of_update(stage, layout_.contents(stage)); }
  /// Returns of_pass() of every chunk of `stage`.
  [[nodiscard]] Table<Chunk, PassMemory> of_passes(Stage stage) const {
    return of_passes(stage, layout_.contents(stage));
  }
  /// Returns what a stage holds, in passes and in the update. `contents` are those of the job's layout. A search asks
  /// for them often.
  [[nodiscard]] StageMemory of_stage(Stage stage, const job::StageContents& contents) const {
    return {held(stage, contents), of_passes(stage, contents), of_update(stage, contents)};
  }

 private:
  using Kind = LayerMemory::Kind;

  /// Parameters of a GPU by what it keeps of them, and the parts that stand outside it.
  struct Shards {
    double weights = 0, gradients = 0, states = 0, weights_away = 0, states_away = 0;
  };
  /// Bytes that sharding needs beyond the shards: gathered weights, and gradients that wait for their reduction.
  struct Working {
    double weights = 0, gradients = 0;
  };

  [[nodiscard]] const Kind& kind(const model::LayerCount& layers) const {
    return layers_->kinds[static_cast<std::size_t>(layers.kind)];
  }
  template <class Value>
  [[nodiscard]] double largest(const std::vector<model::LayerCount>& layers, const Value& value) const;
  [[nodiscard]] StaticMemory held(Stage stage, const job::StageContents& contents) const;
  [[nodiscard]] PassMemory of_pass(Stage stage, Chunk chunk, const job::StageContents& contents) const;
  [[nodiscard]] Table<Chunk, PassMemory> of_passes(Stage stage, const job::StageContents& contents) const;
  [[nodiscard]] Bytes of_update(Stage stage, const job::StageContents& contents) const;
  [[nodiscard]] double gradient_placeholders(const std::vector<model::LayerCount>& layers) const;
  [[nodiscard]] double quantised_weights(const std::vector<model::LayerCount>& layers) const;
  [[nodiscard]] double weight_bytes(double parameters, double narrow) const;
  [[nodiscard]] double factored_moments(Stage stage) const;
  [[nodiscard]] double largest_buckets(double trained, double of_experts) const;
  [[nodiscard]] Working working_set(Stage stage, const job::StageContents& contents,
                                    const std::vector<model::LayerCount>& layers) const;
  [[nodiscard]] PassMemory of_layers(const std::vector<model::LayerCount>& layers) const;
  [[nodiscard]] Shards shards_of(Stage stage, const job::StageContents& contents) const;
  [[nodiscard]] double stored_by(int kind) const;
  void take_away(PassMemory& pass, Stage stage, Chunk chunk) const;
  [[nodiscard]] PassMemory of_recomputed_layers(const std::vector<model::LayerCount>& layers) const;

  const job::Job& job_;
  job::Layout layout_;
  std::shared_ptr<const LayerMemory> layers_;
  LocalParameters parameters_, trained_, narrow_;
  double replicas_, expert_replicas_;  ///< ranks that states are sharded over, and states of experts
  Table<Stage, int> versions_;         ///< of the weights, by stage; empty: one
};

/// Bytes that the device holds outside the allocator: CUDA context and NCCL's buffers. A job fits when they and the
/// allocator's peak fit. An allocator that runs short returns its cache before it fails.
[[nodiscard]] Bytes outside_allocator(const job::Job& job);

[[nodiscard]] WholeModelMemory whole_model_memory(const job::Job& job);

}  // namespace foretoken::step

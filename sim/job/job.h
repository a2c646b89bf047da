// The job: one model on one cluster under one parallel configuration, checked and complete.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cost/profile.h"
#include "sim/job/imperfections.h"
#include "sim/job/offload.h"
#include "sim/job/runtime.h"
#include "sim/job/stragglers.h"
#include "sim/model/layer_context.h"
#include "sim/model/lengths.h"
#include "sim/model/transformer.h"
#include "sim/net/cluster.h"
#include "sim/net/rank_grid.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::job {

struct Parallelism {
  int tensor = 1, pipeline = 1, virtual_pipeline = 1, data = 1, context = 1;
  int copies = 1;  ///< of the model on one pipeline; its schedule says so, and each of them has chunks of its own
  int expert = 1, expert_tensor = 1;  ///< experts are dealt out over their own grid of the same GPUs
  bool sequence_parallel = false;
  model::ContextExchange exchange = model::ContextExchange::kRing;
  bool embedding_and_head_as_layers = false;  ///< each counts as one layer when layers are dealt out
  std::vector<int> layers_per_stage{};        ///< layers that the user states; empty: dealt out evenly
  std::optional<int>
      encoder_pipeline{};           ///< stages of the encoder of an encoder-decoder, as stated; none: half of them
  std::int64_t encoder_layers = 0;  ///< the first layers of the model, in an encoder-decoder
};

/// The axes along which a job is cut, with the degree of each.
inline constexpr std::array kDegrees{
    std::pair{Axis::kTensor, &Parallelism::tensor}, std::pair{Axis::kContext, &Parallelism::context},
    std::pair{Axis::kPipeline, &Parallelism::pipeline}, std::pair{Axis::kData, &Parallelism::data}};

/// The axes over which the experts of a model are dealt out, with the degree of each.
inline constexpr std::array kExpertDegrees{std::pair{Axis::kExpert, &Parallelism::expert},
                                           std::pair{Axis::kExpertTensor, &Parallelism::expert_tensor}};

/// Counts the stages that hold the encoder of an encoder-decoder. 0: the model has one half, or the pipeline one stage.
[[nodiscard]] int encoder_stages(const Parallelism& parallelism);

/// Returns one degree an axis, and 1 for an axis along which nothing is cut.
[[nodiscard]] PerAxis<int> degrees_of(const Parallelism& parallelism);

/// Rows of the fullest expert rank over their mean that memory has room for, where nothing is stated. Megatron-Bridge
/// gives a rank that room where buffers are fixed and no token is dropped (moe_expert_rank_capacity_factor in
/// set_full_iter_cg_configs, scripts/performance/configs/deepseek/deepseek_llm_pretrain.py).
inline constexpr double kUnstatedImbalance = 1.5;

/// The way in which tokens find their experts.
struct Routing {
  model::Dispatcher dispatcher = model::Dispatcher::kAllToAll;
  std::optional<double> capacity_factor = std::nullopt;  ///< none: no token is dropped or padded
  /// Tokens of the rank with the most over their mean. None: routing is even in times, not in the peak of memory.
  std::optional<double> imbalance = std::nullopt;
  bool shared_expert_overlap = false;

  [[nodiscard]] double imbalance_in_times() const { return imbalance.value_or(1); }
};

struct Batch {
  std::int64_t micro = 1, global = 1, sequence_length = 1;
  std::optional<int> microbatch_group =
      std::nullopt;  ///< micro-batches a group of interleaving, as stated; none: the pipeline degree
  std::optional<double> masked_fraction = std::nullopt;  ///< of the tokens, that the masked head reads; none: all
  std::optional<std::int64_t> packed = std::nullopt;     ///< mean tokens of a packed sequence; none: nothing is packed
  /// Tokens of a sample in the decoder beside an encoder; `sequence_length` is the encoder's. None: as long.
  std::optional<std::int64_t> decoder_sequence_length = std::nullopt;

  /// Tokens that see one another.
  [[nodiscard]] std::int64_t attended() const { return packed.value_or(sequence_length); }
  /// The same of both halves.
  [[nodiscard]] model::Lengths lengths() const { return {attended(), decoder_sequence_length.value_or(0)}; }
};

struct Recompute {
  model::RecomputeGranularity granularity = model::RecomputeGranularity::kNone;
  bool block = false;  ///< method block: only the first `layers` of each chunk; otherwise method uniform
  int layers = 1;      ///< uniform: group size; block: layers recomputed in each chunk
  model::SelectiveModules modules;
};

/// Bytes per parameter of the mixed-precision recipe (docs/modeller/memory.md).
struct PrecisionRecipe {
  double weight_bytes = 2;
  double gradient_bytes = 4;        ///< main gradient
  double extra_gradient_bytes = 0;  ///< a second, 16-bit gradient copy (fp16 recipe of 20 bytes: 2 + 4)
  double reduce_bytes = 4;          ///< of an element of reduced gradients
  double master_bytes = 4;
  double moment_bytes = 8;  ///< Adam's two moments
  model::Fp8Recipe fp8 = model::Fp8Recipe::kDelayed;
  bool fp8_attention = false;
};

/// The parts of a step that the host launches at once, recorded as CUDA graphs: none, each layer, or the whole step.
enum class CudaGraphs : std::uint8_t { kNone, kLayer, kFull };
[[nodiscard]] std::string_view name_of(CudaGraphs graphs);  ///< as scenarios spell it

struct Optimizer {
  /// Or "lamb", which has Adam's states and norms of every tensor, or "adafactor", whose second moments are factored.
  std::string name = "adam";
  /// The parts that data-parallel ranks shard: 0 nothing, 1 optimizer states, 2 gradients too, 3 parameters too.
  int zero_stage = 0;
  /// No stage waits for the others before its update: the gradient norm is checked afterwards, and a bad update is
  /// taken back (arXiv:2401.10241, section 4).
  bool post_validation = false;
  bool paged = false;  ///< states stand in unified memory, and leave the GPU when it runs short (bitsandbytes)
  [[nodiscard]] bool shards_gradients() const { return zero_stage >= 2; }
};

struct Overlap {
  bool grad_reduce = false, param_gather = false, p2p = false;
  bool tensor_parallel = false;  ///< in the runtime's way (Runtime::tensor_overlap)
  bool exchanges = false;        ///< of experts, beside another micro-batch's pass in the other direction (moe.overlap)
};

/// The overlaps of every model by their keys in a scenario.
inline constexpr std::array kOverlaps{std::pair{std::string_view("grad_reduce"), &Overlap::grad_reduce},
                                      std::pair{std::string_view("param_gather"), &Overlap::param_gather},
                                      std::pair{std::string_view("p2p"), &Overlap::p2p},
                                      std::pair{std::string_view("tensor_parallel"), &Overlap::tensor_parallel}};

struct TrainingRun {
  double tokens = 0;
  std::optional<double> price_per_gpu_hour;
  std::string currency = "USD";
};

/// Consecutive pipeline stages on nodes of one kind.
struct StageGroup {
  int stages = 1;
  net::Cluster cluster;
  cost::Profile profile;
};

/// A complete and valid job. job::make builds it from a Question. Nothing changes or checks it afterwards.
struct Job {
  std::string name;
  model::Transformer model;
  net::Cluster cluster;  ///< with several kinds of nodes: its name, else the first kind
  int gpus = 1;
  cost::Profile profile;
  std::vector<StageGroup> groups;  ///< the kinds of nodes, in order of stages; empty: all are alike
  Runtime runtime;
  Parallelism parallelism;
  schedule::Schedule schedule = schedule::schedule_named("1f1b");  ///< from the catalogue, or any other
  Routing routing;
  Batch batch;
  Precision precision = Precision::kBf16;
  PrecisionRecipe recipe;
  Recompute recompute;
  model::AttentionKind attention = model::AttentionKind::kFlash;
  FlashKernel flash_kernel = FlashKernel::kFastest;
  CudaGraphs cuda_graphs = CudaGraphs::kNone;
  bool compile = false;  ///< PyTorch's compiler fuses what the runtime leaves apart
  Optimizer optimizer;
  Overlap overlap;
  Offload offload;
  Imperfections imperfections;
  Stragglers stragglers;
  std::optional<TrainingRun> run;

  /// Returns true when a stage starts a step before all stages have ended the one before: no barrier stands between.
  [[nodiscard]] bool overlaps_steps() const { return schedule.without_flush || optimizer.post_validation; }
  [[nodiscard]] int microbatches() const {  ///< m, for one step and one data-parallel replica
    return static_cast<int>(batch.global / (batch.micro * parallelism.data));
  }
  /// The grids of axes over this job's GPUs.
  [[nodiscard]] net::RankGrid grid() const { return net::RankGrid(degrees_of(parallelism)); }
  [[nodiscard]] bool compiles_layers() const;  ///< by PyTorch's compiler
  /// Returns the cut and the execution of one layer in this job.
  [[nodiscard]] model::LayerContext layer_context() const;
  /// Returns the rows of the fullest rank over their mean, as the peak of memory counts them in every micro-batch under
  /// way. `routing` states it. Otherwise it is kUnstatedImbalance, at most what the experts allow, and 1 with a
  /// capacity.
  [[nodiscard]] double imbalance_at_peak() const;
  /// Returns layer_context() with imbalance_at_peak().
  [[nodiscard]] model::LayerContext layer_context_at_peak() const;
  /// Returns "bf16". MXFP8 is a precision of its own here: "mxfp8".
  [[nodiscard]] bool uses_mxfp8() const {
    return precision == Precision::kFp8 && recipe.fp8 == model::Fp8Recipe::kMxfp8;
  }
  [[nodiscard]] std::string_view precision_name() const;
  /// Returns the position of a stage's group in `groups`. Precondition: there are groups.
  [[nodiscard]] std::size_t group_of(Stage stage) const;
  [[nodiscard]] const net::Cluster& cluster_of(Stage stage) const {
    return groups.empty() ? cluster : groups[group_of(stage)].cluster;
  }
  [[nodiscard]] const cost::Profile& profile_of(Stage stage) const {
    return groups.empty() ? profile : groups[group_of(stage)].profile;
  }
  /// Returns the node (NVLink domain) of a GPU of the job, numbered group by group.
  [[nodiscard]] NodeId node_of(Gpu gpu) const;
  [[nodiscard]] HostId host_of(Gpu gpu) const;  ///< likewise the host; a domain may have several
  /// Returns the dense peak of the job's precision, as a mean over all GPUs.
  [[nodiscard]] FlopPerSecond mean_peak() const;
  /// Returns "h100-sxm5-80gb", or "a100-sxm4-80gb and h100-sxm5-80gb".
  [[nodiscard]] std::string gpu_names() const;
  /// Counts the layers of chunk `chunk` of stage `stage`. layout.h has the other contents of a chunk.
  [[nodiscard]] int layers_in(Stage stage, Chunk chunk) const;
};

/// Returns true when experts are sharded over other ranks than the rest: they have expert ranks, or other tensor ranks.
/// False without experts.
[[nodiscard]] bool experts_have_own_grid(const Job& job);
/// Returns the shape that the programs of the job's schedule are built for.
[[nodiscard]] schedule::PipelineShape pipeline_shape(const Job& job);
/// Returns the places of the virtual stages of the job.
[[nodiscard]] schedule::Placement placement_of(const Job& job);

}  // namespace foretoken::job

// A question as asked: the statements about a job, without the values that follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/profile.h"
#include "sim/job/imperfections.h"
#include "sim/job/job.h"
#include "sim/job/notes.h"
#include "sim/job/runtime.h"
#include "sim/job/stragglers.h"
#include "sim/model/transformer.h"
#include "sim/net/cluster.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::job {

/// Consecutive GPUs on nodes of one kind.
struct AskedPool {
  int gpus = 1;
  net::Cluster cluster;
  cost::Profile profile;
};

/// Degrees. An absent one is 1; an absent data-parallel degree takes the GPUs that the others leave, and an absent
/// expert-tensor degree is the runtime's (Runtime::experts_split_as_dense).
struct AskedParallelism {
  PerAxis<std::optional<int>> degrees;  ///< of the axes of kDegrees and kExpertDegrees
  std::optional<int> virtual_pipeline;
  std::optional<bool> sequence_parallel;
  decltype(Parallelism::exchange) exchange = Parallelism{}.exchange;
  bool embedding_and_head_as_layers = false;
  std::vector<int> layers_per_stage;                   ///< empty: dealt out evenly
  std::optional<int> encoder_pipeline = std::nullopt;  ///< stages of the encoder; absent: half of them
};

struct AskedBatch {
  std::optional<std::int64_t> micro;  ///< absent: 1
  std::int64_t global = 1, sequence_length = 1;
  std::optional<int> microbatch_group =
      std::nullopt;  ///< micro-batches a group of interleaving; absent: the pipeline degree
  std::optional<double> masked_fraction = std::nullopt;  ///< of the tokens, that the masked head reads; absent: all
  std::optional<std::int64_t> packed = std::nullopt;     ///< mean tokens of a packed sequence; absent: none is
  std::optional<std::int64_t> decoder_sequence_length = std::nullopt;  ///< absent: as long as the encoder's
};

/// Overlaps. An absent one is the runtime's default, where the other choices allow it.
struct AskedOverlap {
  std::optional<bool> grad_reduce, param_gather, p2p;
  std::optional<bool> tensor_parallel;  ///< absent: false
  std::optional<bool> exchanges;        ///< absent: false
};

/// Bytes of one element. An absent one is the runtime's; stated gradients have no second copy unless it is stated, too.
struct AskedRecipe {
  std::optional<double> weight_bytes, gradient_bytes, extra_gradient_bytes, reduce_bytes, master_bytes;
  std::optional<double> moment_bytes;  ///< of both moments
  std::optional<model::Fp8Recipe> fp8;
  std::optional<bool> fp8_attention;
};

/// The choices for one model, one kind of machine and one software stack. A Patch changes them.
struct Choices {
  int gpus = 1;
  AskedParallelism parallelism;
  std::optional<schedule::Schedule> schedule;  ///< absent: 1F1B, interleaved where stages hold several chunks
  AskedBatch batch;
  std::optional<Recompute> recompute;  ///< absent: none
  std::optional<int> zero_stage;       ///< absent: the runtime's
  AskedOverlap overlap;
  std::optional<Offload> offload;               ///< absent: everything stays on the GPU
  std::optional<model::Dispatcher> dispatcher;  ///< absent: all-to-all
  std::optional<Precision> precision;           ///< absent: bf16
  std::optional<AskedRecipe> recipe;
};

struct Question {
  std::string file;  ///< name of the question in complaints
  std::string name;
  model::Transformer model;
  std::optional<double> dropout;  ///< absent: the model's
  net::Cluster cluster;           ///< with several kinds of nodes: name and price, else the first kind
  cost::Profile profile;
  std::vector<AskedPool> pools;  ///< the kinds of nodes, in the order of their stages; empty: all nodes are alike
  Runtime runtime;
  Choices choices;
  std::optional<AttentionChoice> attention;  ///< absent: the runtime's
  CudaGraphs cuda_graphs = CudaGraphs::kNone;
  bool compile = false;
  std::optional<Routing> routing;  ///< its dispatcher is a choice; absent: balanced
  std::string optimizer = "adam";
  bool paged_optimizer = false, post_validation = false;
  std::optional<model::FineTuning> tuning;  ///< absent: every weight trains
  Imperfections imperfections;              ///< its numbers count GPUs and nodes of the job
  Stragglers stragglers;
  std::optional<TrainingRun> run;
  Notes notes;  ///< remarks from the author of the question
};

/// Returns the question that `job` answers, with every choice stated.
[[nodiscard]] Question question_of(const Job& job);

}  // namespace foretoken::job

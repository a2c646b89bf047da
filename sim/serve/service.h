// A checked question about serving: one model behind one engine, its machines and its requests.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/kernels/decode_attention.h"
#include "sim/cost/profile.h"
#include "sim/job/notes.h"
#include "sim/model/transformer.h"
#include "sim/net/cluster.h"
#include "sim/serve/engine.h"

namespace foretoken::serve {

/// The cut of one copy of the model over GPUs. `attention_data` groups of tensor ranks each have requests of their own;
/// experts are dealt out over the ranks of a stage.
struct Degrees {
  int tensor = 1, pipeline = 1, expert = 1, attention_data = 1;

  [[nodiscard]] constexpr int stage_ranks() const { return tensor * attention_data; }
  [[nodiscard]] constexpr int gpus() const { return stage_ranks() * pipeline; }
  [[nodiscard]] constexpr int expert_tensor() const { return stage_ranks() / expert; }
  friend bool operator==(const Degrees&, const Degrees&) = default;
};

/// Bits of weights. kInt8 and kInt4 are weights only: products compute in 16 bits. kMxfp4 is so for experts, and leaves
/// all other weights in 16 bits, as gpt-oss is published (arXiv:2508.10925, section 2.1). With kW8a8 weights and
/// activations are integers of 8 bits, and products compute so. With kTf32 and kFp32 everything has 32 bits.
enum class WeightPrecision : std::uint8_t {
  kFp16,
  kBf16,
  kFp8,
  kFp8Block,
  kNvfp4,
  kMxfp4,
  kInt8,
  kInt4,
  kW8a8,
  kTf32,
  kFp32
};
inline constexpr std::array kWeightPrecisions{
    WeightPrecision::kBf16,  WeightPrecision::kFp16,  WeightPrecision::kFp8,  WeightPrecision::kFp8Block,
    WeightPrecision::kNvfp4, WeightPrecision::kMxfp4, WeightPrecision::kInt8, WeightPrecision::kInt4,
    WeightPrecision::kW8a8,  WeightPrecision::kTf32,  WeightPrecision::kFp32};
[[nodiscard]] std::string_view name_of(WeightPrecision precision);
[[nodiscard]] constexpr bool is_wide(WeightPrecision precision) {
  return precision == WeightPrecision::kTf32 || precision == WeightPrecision::kFp32;
}
/// Returns the precision of weights outside the experts.
[[nodiscard]] constexpr WeightPrecision beside_experts(WeightPrecision precision) {
  return precision == WeightPrecision::kMxfp4 ? WeightPrecision::kBf16 : precision;
}
/// Bytes of one weight of a product, with its part of the scales. kMxfp4: of a weight of an expert.
[[nodiscard]] double weight_bytes(WeightPrecision precision);

/// One request of a trace.
struct TracedRequest {
  double arrival_s = 0;
  std::int64_t input_tokens = 1, output_tokens = 1;
};

enum class ArrivalKind : std::uint8_t {
  kBatch,   ///< all at once, as one batch
  kClosed,  ///< a number of users, each with one request at a time
  kPoisson,
  kTrace
};

/// Most requests of a run. A trace of a million took 4.4 s and 152 MB (docs/contributor/performance.md).
inline constexpr std::int64_t kMostRequests = 5'000'000;

struct Requests {
  ArrivalKind kind = ArrivalKind::kBatch;
  std::int64_t input_tokens = 1, output_tokens = 1;
  /// Mean of the answers of a static batch, which ends with its longest one of `output_tokens`; 0: all are as long.
  std::int64_t mean_output_tokens = 0;
  std::int64_t padded_tokens = 0;  ///< of a sequence of an encoder with its padding; 0: there is none
  std::int64_t beam_width = 1;     ///< answers that a beam search of an encoder-decoder follows; 1: tokens are sampled
  std::int64_t at_once = 1;        ///< the batch, or the users
  double rate_per_s = 0;           ///< Poisson only
  std::int64_t count = 1;          ///< requests of the run
  bool states_count = false;       ///< otherwise it follows from the users of a closed loop
  double length_spread = 0;        ///< lengths are uniform between (1 - spread) and 1 of the stated ones
  double prefix_share = 0;         ///< part of each prompt whose keys and values are in the cache already
  std::uint64_t seed = 1;          ///< of arrivals and lengths
  std::vector<TracedRequest> trace{};

  [[nodiscard]] bool searches_beams() const { return beam_width > 1; }
  /// Returns the least mean of a batch of answers: one is the longest, and none is shorter than a token.
  [[nodiscard]] std::int64_t least_mean(std::int64_t batch) const { return (output_tokens + 2 * (batch - 1)) / batch; }
  /// Returns true when requests arrive whether earlier ones are answered or not.
  [[nodiscard]] bool arrive_by_themselves() const {
    return kind == ArrivalKind::kPoisson || kind == ArrivalKind::kTrace;
  }
};

/// Returns the requests of a closed loop that states no number: ten of each user, within 32 and kMostRequests.
[[nodiscard]] constexpr std::int64_t closed_loop_count(std::int64_t users) {
  return std::clamp<std::int64_t>(10 * users, 32, kMostRequests);
}

/// A draft proposes tokens, and the model checks them in one pass.
struct Speculation {
  int tokens = 1;          ///< proposed a pass
  double acceptance = 0;   ///< chance that a proposed token is accepted when all before it are
  double draft_share = 0;  ///< time of one draft token over the time of a pass of the model

  /// Returns the mean number of tokens a pass: (1 - a^(k+1)) / (1 - a) (arXiv:2211.17192, equation 1).
  [[nodiscard]] double tokens_a_pass() const;
};

/// Limits that a request must meet to count as goodput.
struct Limits {
  std::optional<double> ttft_s{}, tpot_s{}, latency_s{};
  [[nodiscard]] bool any() const { return ttft_s || tpot_s || latency_s; }
};

enum class Batching : std::uint8_t { kStatic, kContinuous };

/// GPUs of one role of a disaggregated service.
struct Pool {
  int gpus = 1;
  Degrees degrees;
  [[nodiscard]] constexpr int instances() const { return gpus / degrees.gpus(); }
  friend bool operator==(const Pool&, const Pool&) = default;
};

/// Prompts run on one pool, and their caches go to the other over the links between them.
struct Disaggregated {
  Pool prefill, decode;
  friend bool operator==(const Disaggregated&, const Disaggregated&) = default;
};

/// The kernels of experts, as vLLM and TensorRT-LLM name them.
enum class MoeBackend : std::uint8_t {
  kAuto,    ///< those that the engine chooses on this GPU
  kMarlin,  ///< Marlin's: weights of 4 bits, widened to 16 inside the product
  kTriton   ///< Triton's: the host launches many small kernels for the experts of a layer
};

[[nodiscard]] std::string_view name_of(MoeBackend backend);  ///< "auto", "marlin", "triton"

/// Fewest beams whose log probabilities are written out and sorted: FasterTransformer df4a753, DynamicDecodeLayer.cc.
inline constexpr std::int64_t kLeastSortedBeams = 16;

/// A complete and valid question about serving.
struct Service {
  std::string name;
  model::Transformer model;
  net::Cluster cluster;
  cost::Profile profile;
  std::optional<cost::ServingLaws> laws;  ///< of decode attention and small all-reduces; none: the roofline, NCCL
  Engine engine;
  Pool pool;  ///< all GPUs, unless the service is disaggregated
  std::optional<Disaggregated> disaggregated;
  WeightPrecision precision = WeightPrecision::kBf16;
  double cache_bytes = 2;                ///< of one element of keys and values
  std::string cache_precision = "bf16";  ///< its name: "bf16", "fp16", "fp8" or "int8"
  Requests requests;
  Batching batching = Batching::kContinuous;
  std::optional<Speculation> speculation;
  Limits limits;
  std::optional<double> price_per_gpu_hour;
  double imbalance = 1;  ///< tokens of the hottest expert rank over the mean; at most the number of these ranks counts
  MoeBackend moe_backend = MoeBackend::kAuto;  ///< of experts in MXFP4
  job::Notes notes;
  std::vector<std::filesystem::path> files;  ///< that the question was read from

  [[nodiscard]] int gpus() const {
    return disaggregated ? disaggregated->prefill.gpus + disaggregated->decode.gpus : pool.gpus;
  }
  /// Bytes of an element of tables, norms and activations.
  [[nodiscard]] double element_bytes() const { return is_wide(precision) ? 4 : 2; }
  /// Returns the most tokens that a request holds in the cache.
  [[nodiscard]] std::int64_t longest() const;
  [[nodiscard]] std::int64_t longest_prompt() const;  ///< tokens
};

/// Returns true when attention over prompts is unfused: fused kernels have neither 32 bits nor relative positions.
[[nodiscard]] bool runs_unfused(const Service& service);
/// Returns the layers that hold keys and values: all of them, or those of the decoder.
[[nodiscard]] std::int64_t cached_layers(const model::Transformer& model);

/// Returns the tokens of a pass that one attention group may take.
[[nodiscard]] std::int64_t group_tokens(const Engine& engine, const Degrees& degrees);
/// Returns the requests of one attention group that run at once.
[[nodiscard]] std::int64_t group_sequences(const Engine& engine, const Degrees& degrees);

/// Returns the pool of all GPUs, or the pools of prompts and of decoding.
[[nodiscard]] std::vector<Pool> pools_of(const Service& service);

}  // namespace foretoken::serve

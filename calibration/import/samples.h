// Measurements in one form, from any program or file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "calibration/import/origin.h"
#include "sim/base/exchange.h"
#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/kernels/decode_attention.h"

namespace foretoken::measured {

/// The range of a measurement: a picosecond to eleven days, and up to a billion TFLOP/s. Other values have a wrong
/// unit.
inline constexpr double kShortestUs = 1e-6, kLongestUs = 1e12, kHighestTflops = 1e9;

/// Times of one kernel over repeated runs. A published table gives one number: then all three are that number, and runs
/// is 0.
struct Timing {
  Seconds median{}, p10{}, p90{};
  int runs = 0;
  friend bool operator==(const Timing&, const Timing&) = default;
};

/// A matrix product. The pass gives the layout: forward TN, input gradient NN, weight gradient NT (fp8 always TN).
struct GemmSample {
  GemmShape shape;
  bool adds_to_fp32 = false;  ///< accumulates into an fp32 matrix (C = D, beta = 1); else writes `shape.precision`
  Timing time{};
  bool with_quantisation = false;  ///< the time includes the quantisation of the m x k input
};

/// Returns the reason why no GPU can do this product in this time, or an empty text when one can.
[[nodiscard]] std::string why_impossible(const GemmSample& sample);

/// A kernel limited by device memory.
struct KernelSample {
  std::string kernel;                  ///< as in kernel_names(); "cast" and "scan" quantise to 8 bit
  std::int64_t rows = 1, columns = 1;  ///< shape of its data
  Bytes bytes;                         ///< read and written, each once
  bool cold = true;                    ///< true when its data were not in the L2 cache
  Timing time;
};

/// Attention forward or backward.
struct AttentionSample {
  AttentionShape shape;
  std::string implementation;  ///< "cudnn" or "flash-2" (fused), "composed" (products and a softmax kernel)
  Timing time;
  Bytes beside{};  ///< keys and values that another kernel writes into a cache; the time includes that kernel
};

/// The layers that are measured whole. kGpt has layer norms, GeLU and dropout; kLlama has RMS norms and SwiGLU.
enum class LayerFamily : std::uint8_t { kGpt, kLlama };

/// One transformer layer in bf16, forward or backward, on one rank of a tensor-parallel group, without communication.
/// Attention is composed of batched products and a softmax. layer_work() lists its kernels.
struct LayerSample {
  LayerFamily family = LayerFamily::kLlama;
  bool backward = false;
  std::int64_t batch = 1, sequence = 2048;  ///< sequences, and tokens of each
  std::int64_t hidden = 4096, ffn = 11008;  ///< of the whole layer
  std::int64_t heads = 32;                  ///< of the whole layer; as many for keys and values
  std::int64_t tensor = 1;                  ///< ranks that share heads and ffn
  Timing time{};
};

/// Returns the name of a family: "gpt".
[[nodiscard]] std::string_view name_of(LayerFamily family);

/// Returns the reason why no such layer exists, or an empty text when one does.
[[nodiscard]] std::string why_impossible(const LayerSample& sample);

/// Measurements that nccl-tests can make, by the names of its programs without "_perf".
enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendRecv,
  kHypercube
};

/// A collective. `bytes` is the size column of nccl-tests: the total over ranks for all-gather, reduce-scatter,
/// all-to-all, gather, scatter and hypercube, else one rank's buffer. The time is the slowest rank's.
struct CollectiveSample {
  Collective kind = Collective::kAllReduce;
  Bytes bytes;
  GroupShape group;
  bool in_place = false;
  std::string type = "float";  ///< element type as nccl-tests names it
  Timing time;
  std::optional<Seconds> estimate;  ///< NCCL's own prediction
};

/// An exchange of tokens with experts.
struct ExchangeSample {
  ExchangeShape shape;
  Timing time;
};

/// Attention of one new token of each sequence over the cache.
struct DecodeSample {
  cost::DecodeShape shape;
  Precision cache = Precision::kBf16;
  std::string engine{};   ///< whose kernels: trt-llm, vllm or sglang; empty: not stated
  bool latent = false;    ///< over latent vectors, with products absorbed
  bool windowed = false;  ///< its window is shorter than the cache
  Timing time;

  [[nodiscard]] cost::CacheKind kind() const;
  /// Returns the query heads for each key-value head; 1 for latent vectors, which all heads share.
  [[nodiscard]] std::int64_t shared() const { return latent ? 1 : shape.heads / shape.kv_heads; }
};

/// The experts of one GPU, as an engine of inference runs them forward: the choice of experts, copies of the tokens in
/// expert order, two grouped products with an activation between them, and the weighted sum.
struct ExpertSample {
  std::int64_t tokens = 1, hidden = 1;
  std::int64_t width = 1;  ///< of one expert on this GPU
  std::int64_t per_token = 1;
  std::int64_t experts = 1;  ///< of all ranks
  std::int64_t ranks = 1;    ///< that share the experts out; tokens are those of all
  bool gated = true;         ///< the first product makes two numbers for each of the width
  Precision precision = Precision::kBf16;
  std::string kernel{};  ///< as the table names it
  bool balanced = true;  ///< every expert gets as many rows
  Seconds time{};

  /// Rows of all experts; with several ranks those of all ranks.
  [[nodiscard]] double rows() const { return static_cast<double>(tokens) * static_cast<double>(per_token); }
  [[nodiscard]] double rows_of_expert() const { return rows() / static_cast<double>(experts); }
};

/// An all-reduce inside a node by an engine's own kernel, `bytes` those of one rank.
struct SmallAllReduceSample {
  std::string implementation;
  int ranks = 2;
  Bytes bytes{};
  Timing time;
};

/// Returns whose kernels a table means by "trtllm" or "TRTLLM", "vllm_graph" and "sglang_graph"; nothing: another name.
[[nodiscard]] std::optional<cost::AllReduceKernels> kernels_of(std::string_view implementation);

/// A cost of the host or of its link to the GPU, with the bytes of one copy (0: none).
struct HostSample {
  std::string what;  ///< "launch", "graph_node", "copy_to_device", ...
  Bytes bytes;
  Timing time;
};

/// One instant of a sustained run: the rate since the instant before, and the readings of the GPU's sensors.
struct ClockSample {
  std::string work;  ///< name of the work
  Seconds at;        ///< since the run began
  FlopPerSecond rate;
  std::optional<double> sm_mhz, watts, celsius;
};

using Sample =
    std::variant<GemmSample, KernelSample, AttentionSample, LayerSample, CollectiveSample, HostSample, ClockSample>;

/// A sample and its origin.
template <class T>
struct From : T {
  std::size_t origin = 0;  ///< index into Samples::origins
};

/// Everything that was read, by kind, in the order of the input.
struct Samples {
  std::vector<Provenance> origins;
  std::vector<From<GemmSample>> gemms;
  std::vector<From<KernelSample>> kernels;
  std::vector<From<AttentionSample>> attention;
  std::vector<From<LayerSample>> layers;
  std::vector<From<CollectiveSample>> collectives;
  std::vector<From<ExchangeSample>> exchanges;                ///< of tables only
  std::vector<From<DecodeSample>> decodes;                    ///< of tables only
  std::vector<From<SmallAllReduceSample>> small_all_reduces;  ///< of tables only
  std::vector<ExpertSample> experts;                          ///< of tables only
  std::vector<From<HostSample>> host;
  std::vector<From<ClockSample>> clocks;
  std::vector<std::string> notes;  ///< notes for the user: a dropped partial line, a table cut short

  /// Adds a sample of the latest origin, which must exist.
  void add(Sample sample);
  void add(ExchangeSample sample);
  void add(DecodeSample sample);
  void add(SmallAllReduceSample sample);
  /// Appends all samples of `other`.
  void append(Samples other);
  [[nodiscard]] std::size_t size() const;
};

/// Throws ConfigError when a table has all-reduces and kernels_of knows none of their implementations.
void require_known_kernels(const Samples& table, const std::string& file);

/// Returns nccl-tests' own name: "all_reduce", "alltoall", ...
[[nodiscard]] std::string_view name_of(Collective kind);
[[nodiscard]] std::optional<Collective> collective_named(std::string_view name);

/// Returns the front of ClockSample::work of a long run of products with three equal sides, up to the side. For bf16 it
/// is "bf16 product of " with a blank at the end.
[[nodiscard]] std::string product_work(Precision precision);

/// Returns bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md; its sources for gather, scatter,
/// hypercube).
[[nodiscard]] double bus_factor(Collective kind, int ranks);

}  // namespace foretoken::measured

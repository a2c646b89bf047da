// The fitted costs of one kind of GPU (calibration/profiles/NAME.json): laws with constants, and grids of corrections.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/collectives/nccl_law.h"
#include "sim/cost/evidence.h"
#include "sim/cost/exchanges/exchange_law.h"
#include "sim/cost/kernels/gemm_law.h"

namespace foretoken::cost {

/// Thread blocks that all take equally long, as those without a causal mask do, run in whole waves. f and p are those
/// of the law in docs/modeller/costs.md.
struct AttentionWaves {
  int block_rows = 128;  ///< rows of one thread block; a last block that is not full is padded
  double softness = 1;   ///< f: 0: a last wave that is not full takes as long as a full one; 1: its part of that time
  double knee = 1;       ///< p: sharpness of the bend between the time of the first block and that of all waves
};

/// One half of attention: rate = peak / ((1 + (s0 / s)^g)^(1/g) (1 + c multiprocessors / blocks)). Waves
/// replace the last factor.
struct AttentionRate {
  FlopPerSecond peak{};
  double half_length = 0;  ///< s0, tokens: far below it the rate falls in proportion to the sequence
  double tail = 0;         ///< c: idle multiprocessors at the end, in thread blocks of average length
  double sharpness = 1;    ///< g: sharpness of the bend at s0; 1: half of the peak at s0
  std::optional<AttentionWaves> waves{};
};

/// The kernels that an engine of inference runs beside attention: they write keys and values into a cache. Training
/// does not run them. They are beside attention in published tables, and `calibrate check` adds them. t = launch +
/// bytes / bandwidth + tokens x part x token + bytes of queries / queries, part = min(KV heads x head dimension, 512) /
/// 512: vLLM's kernel starts one thread block for each token, of so many threads (csrc/cache_kernels.cu,
/// reshape_and_cache_flash).
struct CacheWrite {
  Seconds launch{};
  BytesPerSecond bandwidth{};  ///< of the keys and values that it reads and writes
  Seconds token{};             ///< of a full thread block, shared by all that run at once; 0: hidden behind the bytes
  BytesPerSecond queries{};    ///< of queries that are rotated or brought to 8 bits, read and written; 0: none are
};

/// Engines of inference whose kernels published tables time.
enum class InferenceEngine : std::uint8_t { kVllm, kSglang, kTensorRtLlm };

/// An engine's attention at the head dimension, mask and width of the law that it belongs to. `calibrate check`
/// compares the engine's table with the law and these constants.
struct EngineAttention {
  InferenceEngine engine = InferenceEngine::kVllm;
  bool windowed = false;     ///< of its kernels with a window
  double kernel_factor = 1;  ///< time of its attention kernel over the law's: some engines have kernels of their own
  /// Of its forward kernel, at the clock of the table, in the place of the law's. None: the law's.
  std::optional<AttentionRate> forward{};
  double window_overhang = 0;               ///< in the place of the law's
  std::optional<CacheWrite> cache_write{};  ///< none: its times hold attention alone
  Evidence evidence{};
};

/// Fused attention for one head dimension.
struct AttentionLaw {
  int head_dim = 128;
  bool causal = true;
  AttentionRate forward{}, backward{};
  double window_overhang = 0;               ///< keys beyond a window that the kernel looks at, on average for a query
  std::optional<CacheWrite> cache_write{};  ///< of the engine whose kernels the law was fitted on
  std::optional<CacheWrite> window_cache_write{};  ///< of the engine whose kernels with windows it was fitted on
  std::vector<EngineAttention> engines{};  ///< one for each engine, and for its kernels with windows; empty: none known
  Evidence evidence{};
};

struct AttentionLaws {
  std::vector<AttentionLaw> laws{};  ///< of the fastest kernel; at least one causal and one full
  /// Laws of FlashAttention-2, the reference of older kernels. Empty: none is known for this GPU.
  std::vector<AttentionLaw> flash2{};
  std::vector<AttentionLaw> fp8{};  ///< with queries, keys and values in 8 bit; empty: as fast as 16 bit
  /// Laws of engines of inference with a paged cache. Those of other head dimensions and masks are in `laws`.
  std::vector<AttentionLaw> serving{};
  int multiprocessors = 1;  ///< thread blocks that run at once, for small batch x heads
  int block_rows = 128;     ///< query rows of one thread block
  Seconds launch{};
  double sustained_factor = 1;  ///< like that of products: the clock falls for all kernels
};

/// The error of a smooth law by size: NCCL changes its protocol with the payload, and small tensors stay in a GPU's
/// cache. The values are log(measured / law) at knots with equal distances in log2 of the bytes, linear between knots
/// and constant beyond the ends. Without values there is no correction.
struct SizeCorrection {
  double first_log2 = 0, last_log2 = 1;
  std::vector<double> log_ratio{};
};

/// t = correction (launch + bytes / (bandwidth x efficiency)).
struct MemoryBoundLaw {
  BytesPerSecond bandwidth{};  ///< datasheet
  double efficiency = 1;
  Seconds launch{};
  SizeCorrection correction{};
  Evidence evidence{};
};

/// Quantisation of 16-bit tensors: a cast with a known scale, and the scan for the largest element before it.
struct QuantisationLaw {
  MemoryBoundLaw cast{}, scan{};
};

/// t = correction (latency + max(x + spread sqrt(x), V / plateau)) with x = V / bandwidth, V the ring bytes of a rank.
struct CollectiveCurve {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int ranks = 2;
  Seconds latency{};
  BytesPerSecond bandwidth{};  ///< asymptote of the bus bandwidth
  double spread = 0;           ///< sqrt(seconds)
  BytesPerSecond plateau{};    ///< highest bus bandwidth allowed
  SizeCorrection correction{};
  Evidence evidence{};
};

/// Curves measured inside a node. Its GPUs have links of `reference` each (per direction).
struct InsideNodeLaw {
  BytesPerSecond reference{};
  std::vector<CollectiveCurve> curves{};  ///< sorted by kind, then ranks; at least one for each kind
};

/// The error of the law across nodes for groups of one measured shape.
struct MeasuredShape {
  int nodes = 2, ranks_per_node = 8;
  SizeCorrection correction{};
  Evidence evidence{};
};

/// The smooth law across nodes: latency + latency_per_doubling log2(nodes), and bandwidth = efficiency x NIC rate of
/// the group.
struct AcrossNodesCurve {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Seconds latency{};  ///< of log2(nodes) = 0
  Seconds latency_per_doubling{};
  double efficiency = 1;          ///< of the group's share of the node's NICs
  double spread = 0;              ///< sqrt(seconds)
  double plateau_efficiency = 1;  ///< highest part of the NIC rate allowed
  double two_node_gain = 1;       ///< trees between exactly two nodes move less over the NICs than rings
  Evidence evidence{};
  std::vector<MeasuredShape> measured{};  ///< sorted by nodes
};

struct AcrossNodesLaw {
  std::vector<AcrossNodesCurve> curves{};  ///< one for each kind
  double lone_rank_factor = 1;             ///< NIC efficiency of a group with one rank per node, relative to many
};

/// t = correction (latency + x + spread sqrt(x)) with x = payload / (efficiency x link rate).
struct PointToPointLaw {
  struct Path {
    Seconds latency{};
    double efficiency = 1;
    double spread = 0;  ///< sqrt(seconds)
    SizeCorrection correction{};
    Evidence evidence{};
  };
  Path nvlink{}, pcie{}, network{};
};

/// Host times where they were measured. Runtimes state the times of their own code; no host issues faster than this.
struct HostLaw {
  Seconds launch{};  ///< of one kernel, while the GPU keeps up
  Evidence evidence{};
};

/// Hardware constants, each with its source and its residuals.
struct Profile {
  std::string name{};                ///< "a100-sxm4-80gb"
  std::string gpu{};                 ///< the GPU it describes
  std::vector<std::string> notes{};  ///< one line for each part: source, samples, residuals
  std::map<Precision, GemmLaw> gemm{};
  MisalignedRows misaligned_rows{};  ///< of matrix products under a tile-and-wave law
  AttentionLaws attention{};
  MemoryBoundLaw memory_bound{};
  std::optional<QuantisationLaw> quantisation{};  ///< none: as other memory-bound kernels
  InsideNodeLaw nvlink{};                         ///< collectives among GPUs of one NVLink domain
  InsideNodeLaw pcie{};                           ///< collectives among GPUs of one node without NVLink
  AcrossNodesLaw network{};
  PointToPointLaw point_to_point{};
  std::vector<ExchangeLaw> exchanges{};  ///< of tokens with experts, one for each library and phase; empty: none known
  /// Chooses the algorithms that a job's flows follow. It may replace collectives that nobody measured (unseen.h). It
  /// is for GPUs behind an NVLink switch, from Ampere on. None: rings, and the curves as they are.
  std::optional<NcclSystem> nccl{};
  std::optional<HostLaw> host{};
};

}  // namespace foretoken::cost

// The shapes of GPU work: sizes of kernels and collectives, without times.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/base/placement.h"
#include "sim/base/units.h"

namespace foretoken {

/// Of the operands of a product. kFp8: one scale a tensor. kFp8Block: a scale for each block of 32 (MXFP8) or 128
/// elements. kNvfp4: 4 bits with a scale for each 16 elements. kTf32: elements of 32 bits, which tensor cores round
/// to 19.
enum class Precision : std::uint8_t { kFp32, kFp16, kBf16, kFp8, kFp8Block, kNvfp4, kInt8, kTf32 };

/// Precisions and their names in files and reports.
inline constexpr std::array kPrecisionNames{std::pair{Precision::kFp32, std::string_view("fp32")},
                                            std::pair{Precision::kTf32, std::string_view("tf32")},
                                            std::pair{Precision::kFp16, std::string_view("fp16")},
                                            std::pair{Precision::kBf16, std::string_view("bf16")},
                                            std::pair{Precision::kFp8, std::string_view("fp8")},
                                            std::pair{Precision::kFp8Block, std::string_view("fp8_block")},
                                            std::pair{Precision::kNvfp4, std::string_view("nvfp4")},
                                            std::pair{Precision::kInt8, std::string_view("int8")}};

constexpr std::string_view name_of(Precision precision) {
  for (const auto& [known, name] : kPrecisionNames)
    if (known == precision) return name;
  return {};
}

constexpr std::optional<Precision> precision_named(std::string_view name) {
  for (const auto& [precision, known] : kPrecisionNames)
    if (known == name) return precision;
  return std::nullopt;
}

/// Bytes of one element with its part of the block scales: 4 bytes for 128 elements or 1 for 32, 1 for 16 of nvfp4.
constexpr double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return 4;
    case Precision::kFp16:
    case Precision::kBf16:
      return 2;
    case Precision::kFp8:
    case Precision::kInt8:
      return 1;
    case Precision::kFp8Block:
      return 1 + 1.0 / 32;
    case Precision::kNvfp4:
      return 0.5 + 1.0 / 16;
  }
  return 0;
}

/// Bits of one element without scales: what rows are aligned by.
constexpr std::int64_t bits_per_element(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return 32;
    case Precision::kFp16:
    case Precision::kBf16:
      return 16;
    case Precision::kFp8:
    case Precision::kFp8Block:
    case Precision::kInt8:
      return 8;
    case Precision::kNvfp4:
      return 4;
  }
  return 0;
}

/// Returns true for elements of 32 bits.
constexpr bool is_wide(Precision precision) { return precision == Precision::kFp32 || precision == Precision::kTf32; }

/// The three products of a linear layer. Layouts in cuBLAS terms: forward TN, input gradient NN, weight gradient NT.
enum class GemmPass : std::uint8_t { kForward, kInputGradient, kWeightGradient };

/// The way in which the products of a batch run: kBatched equal products in one kernel, kGrouped those of a rank's
/// experts in one kernel, kStreams those of its experts one after another, on several streams.
enum class BatchKind : std::uint8_t { kBatched, kGrouped, kStreams };

/// Y[m x n] = X[m x k] W[k x n], `batch` times; 2 m n k batch FLOP.
struct GemmShape {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  GemmPass pass = GemmPass::kForward;
  Precision precision = Precision::kBf16;
  BatchKind kind = BatchKind::kBatched;
  int adds_to_bytes = 0;  ///< bytes of an element of the output that it adds to; 0: it writes a 16-bit output
  double processor_share =
      1;  ///< part of the multiprocessors that it may use; a collective at the same time holds the others

  [[nodiscard]] constexpr Flop flop() const {
    return Flop(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                static_cast<double>(batch));
  }
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

/// Implementations of fused attention. kFastest is the one that the GPU's profile was fitted on. kServing is that of
/// engines of inference, which reads keys and values from a paged cache.
enum class FlashKernel : std::uint8_t { kFastest, kFlash2, kFlash1, kTriton, kServing };

/// Fused attention (FlashAttention) of one GPU. `heads` query heads and `kv_heads` key/value heads remain after
/// sharding. Where ranks share a sequence, q_length is the local part and kv_length the whole.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, q_length = 1, kv_length = 1, head_dim = 128;
  bool causal = true;
  bool backward = false;
  Precision precision = Precision::kBf16;
  FlashKernel kernel = FlashKernel::kFastest;
  std::int64_t window = 0;  ///< keys that a query sees, itself included; 0: all

  /// Mean number of keys that the kernel looks at for a query, when it looks at `beyond` more than the window holds.
  /// Under a causal mask the first queries of a sequence have fewer keys before them than the window holds. The mean is
  /// w - w^2 / (2 s), with s the keys of the sequence and w those of the window.
  [[nodiscard]] constexpr double keys_per_query(double beyond = 0) const {
    const auto all = static_cast<double>(kv_length);
    const double most = window > 0 ? std::min(all, static_cast<double>(window) + beyond) : all;
    return causal ? most - most * most / (2 * all) : most;
  }

  /// Operations that the kernel runs: 2 matrix products forward, 5 backward (it recomputes the scores). A causal mask
  /// halves them. Source: flash-attention benchmarks' convention, arXiv:2307.08691 section 4.1.
  [[nodiscard]] constexpr Flop flop(double beyond = 0) const {
    const double forward = 4.0 * static_cast<double>(batch) * static_cast<double>(heads) *
                           static_cast<double>(q_length) * keys_per_query(beyond) * static_cast<double>(head_dim);
    return Flop(forward * (backward ? 2.5 : 1.0));
  }
  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

/// A kernel limited by device memory. It reads and writes `bytes` once.
struct MemoryBoundShape {
  Bytes bytes;
  friend bool operator==(const MemoryBoundShape&, const MemoryBoundShape&) = default;
};

/// Brings a tensor of 16-bit elements to fewer bits.
struct QuantisationShape {
  double elements = 0;
  Precision to = Precision::kFp8;
  bool finds_scale = false;  ///< the largest element is looked for first (current scaling); else the scale is known

  /// Read and written, each once.
  [[nodiscard]] constexpr Bytes cast_bytes() const { return Bytes(elements * (2 + bytes_per_element(to))); }
  [[nodiscard]] constexpr Bytes scan_bytes() const { return Bytes(elements * 2); }
  friend bool operator==(const QuantisationShape&, const QuantisationShape&) = default;
};

enum class CollectiveKind : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kReduce };

/// A collective over a group. `payload` follows the size column of nccl-tests. All-reduce, broadcast and reduce: the
/// buffer of one rank. All-gather, reduce-scatter and all-to-all: the total over the ranks.
struct CollectiveShape {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload{};
  GroupShape group{};
};

/// One message between two GPUs.
struct PointToPointShape {
  Bytes payload;
  bool crosses_nodes = false;
  int senders_per_node = 1;  ///< GPUs of the node that send at the same time and share its NICs
};

}  // namespace foretoken

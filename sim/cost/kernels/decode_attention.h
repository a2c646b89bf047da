// The time of attention in a decode pass: one query token a sequence reads all its cached keys and values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/evidence.h"
#include "sim/cost/kernels/engine_products.h"
#include "sim/cost/kernels/expert_layer.h"
#include "sim/cost/kernels/narrow_experts.h"
#include "sim/cost/kernels/small_all_reduce.h"

namespace foretoken::cost {

/// One law of a GPU's decode kernels.
///
///   t = launch + fill bytes / (bytes + fill_bytes) + (memory^p + walk^p + l2^p)^(1/p)
///   memory = bytes / bandwidth,  walk = step log2(1 + keys / 256)
///
/// `walk` is the time of one multiprocessor that goes through the keys of its part and then joins the parts. `l2` is
/// the time of reading keys and values through the L2 cache, where each query head reads those of its group by itself.
/// `fill` is the time that the first bytes take beyond their share. Its cause is not known.
struct DecodeLaw {
  Seconds launch{};
  BytesPerSecond bandwidth{};  ///< its efficiency is included
  Seconds step{};
  double sharpness = 1;    ///< p
  Seconds fill{};          ///< 0: none
  Bytes fill_bytes{};      ///< with so many bytes half of `fill` is paid
  bool each_head = false;  ///< every query head reads keys and values by itself, so `bytes` counts them for each
  Evidence evidence{};
};

/// The caches that decode attention reads. Each has a law of its own.
enum class CacheKind : std::uint8_t {
  kWide,         ///< keys and values of 16 bits
  kNarrow,       ///< keys and values of 8 bits
  kLatent,       ///< latent vectors of 16 bits, with products absorbed (multi-head latent attention)
  kLatentNarrow  ///< latent vectors of 8 bits
};

/// The lowest and the highest value of fitted rows.
struct FittedRange {
  std::int64_t low = 1, high = 1;
  friend bool operator==(const FittedRange&, const FittedRange&) = default;
};

/// One law of an engine's own kernels, and the rows that it was fitted on.
struct EngineDecodeLaw {
  FittedRange shared{};     ///< query heads for each key-value head
  FittedRange head_dims{};  ///< numbers of a key
  DecodeLaw law{};
};

/// The laws of one engine's decode kernels on one kind of GPU.
using EngineDecode = std::map<CacheKind, std::vector<EngineDecodeLaw>>;

/// Laws of one kind of GPU that only serving needs: calibration/serving/GPU.json.
struct ServingLaws {
  std::string gpu;
  std::map<CacheKind, DecodeLaw> decode{};                           ///< the GPU's laws, for every engine
  std::string decode_kernels{};                                      ///< the engine whose kernels these are
  std::map<std::string, EngineDecode, std::less<>> engine_decode{};  ///< of kernels that differ, by the engine
  std::optional<BytesPerSecond> l2_rate{};           ///< of reading from the L2 cache; nothing: not measured
  std::optional<NarrowExpertsLaw> mxfp4_experts{};   ///< by the kernels that engines choose on this GPU
  std::optional<NarrowExpertsLaw> marlin_experts{};  ///< the same experts by Marlin's kernels
  EngineExperts experts{};                           ///< whole layers of experts, by the engine
  EngineProducts products{};                         ///< products that differ from the profile's, by the engine
  EngineAllReduces all_reduces{};                    ///< empty: NCCL is used
};

/// Decode attention of one GPU and one layer over a batch. Heads are those that remain after sharding.
struct DecodeShape {
  std::int64_t sequences = 1;  ///< one query token each
  double cached_tokens = 1;    ///< over all sequences, as far as the window reaches
  std::int64_t heads = 1, kv_heads = 1, key_dim = 128, value_dim = 128;
  double cache_bytes = 2;  ///< of an element
  Seconds l2{};            ///< of reading through the L2 cache; 0: all query heads of a group share one reading
};

/// Whose decode kernels run, and on which cache.
struct DecodeKernels {
  std::string_view engine;  ///< trt-llm, vllm or sglang; empty: those of the GPU's laws
  CacheKind kind = CacheKind::kWide;
  std::int64_t shared = 1;      ///< query heads for each key-value head
  std::int64_t head_dim = 128;  ///< of a key
};

/// Returns the engine's own law of such a cache, or else the GPU's. The first of the engine's laws counts whose ranges
/// hold the heads. Where none holds them, the nearest counts, by the ratios of head dimensions and of query heads.
/// Where neither the engine nor the GPU has a law of 8 bits, it returns that of 16 bits. Null: no law.
[[nodiscard]] const DecodeLaw* decode_law(const ServingLaws& laws, const DecodeKernels& kernels);

/// Returns true where the engine has laws of such a cache, and none of them holds the heads.
[[nodiscard]] bool is_beyond_engine_laws(const ServingLaws& laws, const DecodeKernels& kernels);

/// Returns the time of one layer's decode attention. Precondition: at least one sequence and one cached token each.
[[nodiscard]] Seconds decode_attention_time(const DecodeShape& shape, const DecodeLaw& law);

}  // namespace foretoken::cost

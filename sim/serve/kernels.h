// Times of the kernels that serving has and training has not: products of few rows with narrow weights, attention of
// one new token over a cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/serve/service.h"

namespace foretoken::serve {

/// Attention of new tokens over the cache on one GPU. Sequences may differ in length: their mean counts.
struct CacheAttention {
  std::int64_t sequences = 1;
  std::int64_t queries = 1;  ///< new tokens of each sequence: 1, or those that speculation checks
  double cached = 1;         ///< mean tokens of a sequence in the cache
  std::int64_t heads = 1, kv_heads = 1, head_dim = 128;
  std::int64_t value_dim = 128;
  double token_bytes = 0;  ///< of keys and values of one token on this GPU
  bool latent = false;     ///< all heads read one narrow vector a token
};

/// The way in which a decode kernel reads keys and values for the query heads of a group.
enum class CacheReading : std::uint8_t {
  kShared,     ///< one reading for all heads
  kThroughL2,  ///< one from memory, and one for each head from the L2 cache
  kFromMemory  ///< one from memory for each head
};
/// Returns the reading of a model's decode kernels, `kv_heads` of them for `heads` query heads.
[[nodiscard]] CacheReading cache_reading(std::int64_t heads, std::int64_t kv_heads, const Service& service);

/// Returns the kernels of the engine's law of such attention. Only sizes of heads and the kind of cache count.
[[nodiscard]] cost::DecodeKernels decode_kernels(const CacheAttention& shape, const Service& service);

/// Time of one kernel of attention over the cache, by the law of the GPU where there is one. Otherwise it reads keys
/// and values once at the rate of other memory-bound kernels.
[[nodiscard]] Seconds cache_attention_time(const CacheAttention& shape, const Service& service);

/// Returns the kernels of small all-reduces over so many tensor ranks: the engine's, or those of another engine where
/// the GPU has no table of them. kNccl: the engine has none, or the GPU no table.
[[nodiscard]] cost::AllReduceKernels all_reduce_kernels(int ranks, const Service& service);

/// Time of a small all-reduce over tensor ranks in a node by these kernels; nothing where NCCL's are used.
[[nodiscard]] std::optional<Seconds> small_all_reduce_time(Bytes payload, int ranks, const Service& service);

/// Returns the law of the service's experts in MXFP4; nullptr where no table of the GPU has their kernels.
[[nodiscard]] const cost::NarrowExpertsLaw* experts_law(const Service& service);

/// Returns the laws of whole layers of experts by the engine's kernels, or by those of another engine. No laws: the
/// engine or the GPU has none in the service's precision, or the service chose kernels (moe.backend).
[[nodiscard]] cost::FoundExperts expert_layers(const Service& service);

/// Returns the law of the engine's own products with such operands; nullptr where the profile's law counts.
[[nodiscard]] const cost::EngineProductsLaw* products_law(Precision precision, const Service& service);

/// Time of one product whose weights have the service's precision. The shape's own precision is that of its operands.
[[nodiscard]] Seconds product_time(const GemmShape& shape, WeightPrecision precision, const Service& service);

/// Returns the precision that products compute in: that of the weights, or 16 bits. Those of int8 and int4 weights are
/// fp16 where the profile knows no bf16, as on Volta and Turing.
[[nodiscard]] Precision computes_in(WeightPrecision precision, const cost::Profile& profile);

/// Returns why experts in this precision cannot run by the service's kernels of experts (moe.backend); nothing if they
/// can.
[[nodiscard]] std::optional<std::string> why_no_backend(WeightPrecision precision, const Service& service);

/// Returns why the service cannot have weights of this precision; nothing if it can.
[[nodiscard]] std::optional<std::string> why_not(WeightPrecision precision, const Service& service);

}  // namespace foretoken::serve

// Times of kernels that inference has and training has not. Pure functions, no I/O.
#pragma once

#include <cstdint>

#include "sim/cost/inference_laws.h"

namespace foretoken::cost {

/// Attention of new tokens over the cache on one GPU. Sequences may differ in length: the mean counts, because the time
/// follows the bytes. `heads` and `kv_heads` remain after sharding.
struct CacheAttentionShape {
  std::int64_t sequences = 1;
  std::int64_t queries = 1;  ///< new tokens of each sequence: 1, or those that speculation checks
  double cached = 1;         ///< mean tokens of a sequence in the cache
  std::int64_t heads = 1, kv_heads = 1;
  std::int64_t head_dim = 128;  ///< of latent attention: the width of the vector that is kept, 576 for DeepSeek
  std::int64_t window = 0;      ///< keys that a query sees; 0: all
  bool latent = false;
  Precision cache = Precision::kBf16;

  [[nodiscard]] double keys() const;  ///< cached tokens that a query sees
  [[nodiscard]] Bytes bytes() const;  ///< of the cache that one kernel reads
};

/// Time of one kernel of attention over the cache, or of the products and the reduction that stand for it.
[[nodiscard]] Seconds cache_attention_time(const CacheAttentionShape& shape, const InferenceLaws& laws,
                                           const Profile& profile);

/// Time of one product of 16-bit rows with weights of 8 or 4 bits.
[[nodiscard]] Seconds narrow_product_time(const GemmShape& shape, NarrowWeights weights, const InferenceLaws& laws,
                                          const Profile& profile);

/// Bytes of one weight with its part of the scales.
[[nodiscard]] constexpr double bytes_per_weight(NarrowWeights weights) {
  return weights == NarrowWeights::kInt8 ? 1.0 : 0.5;
}

/// Bytes that such a product must read and write at least.
[[nodiscard]] Bytes narrow_product_bytes(const GemmShape& shape, NarrowWeights weights);

/// Time of a law with a grid at a place. `place` has the axes of the law's grid. Places beyond the grid take its edge.
[[nodiscard]] Seconds gridded_time(const GriddedLaw& law, Bytes bytes, GemmShape place);

/// The place of attention over a cache on the grid of its law.
[[nodiscard]] GemmShape grid_place(const CacheAttentionShape& shape);

}  // namespace foretoken::cost

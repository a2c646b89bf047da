// Computes times of attention over the cache and of products with narrow weights.
#include "sim/cost/kernels/inference_kernels.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/gemm_correction.h"

namespace foretoken::cost {
namespace {

std::int64_t at_least_one(double value) { return std::max<std::int64_t>(1, std::llround(value)); }

/// Brings a size onto an axis: a law keeps the correction of its edge beyond it.
std::int64_t onto(const GemmCorrection::Axis& axis, std::int64_t size) {
  const auto low = static_cast<std::int64_t>(std::ceil(std::exp2(axis.first)));
  const auto high = static_cast<std::int64_t>(std::exp2(axis.last));
  return std::clamp(size, low, std::max(low, high));
}

/// Returns the law of the nearest head dimension in the cache's width, or else in another width; nullptr without one.
const CacheAttentionLaw* nearest_cache_law(const std::vector<CacheAttentionLaw>& laws,
                                           const CacheAttentionShape& shape) {
  const bool narrow = bytes_per_element(shape.cache) < 2;
  const CacheAttentionLaw* best = nullptr;
  double least = 0;
  for (const CacheAttentionLaw& law : laws) {
    if (law.latent != shape.latent) continue;
    const double octaves = std::abs(std::log2(static_cast<double>(shape.head_dim) / law.head_dim));
    const double distance = octaves + ((bytes_per_element(law.cache) < 2) == narrow ? 0 : 100);
    if (best == nullptr || distance < least) {
      best = &law;
      least = distance;
    }
  }
  return best;
}

}  // namespace

double CacheAttentionShape::keys() const { return window > 0 ? std::min(cached, static_cast<double>(window)) : cached; }

Bytes CacheAttentionShape::bytes() const {
  const double vectors = static_cast<double>(sequences * kv_heads) * keys() * (latent ? 1 : 2);
  return Bytes(vectors * static_cast<double>(head_dim) * bytes_per_element(cache));
}

GemmShape grid_place(const CacheAttentionShape& shape) {
  return {.m = shape.sequences * shape.kv_heads,
          .n = at_least_one(shape.keys()),
          .k = at_least_one(static_cast<double>(shape.queries * shape.heads) / static_cast<double>(shape.kv_heads))};
}

Seconds gridded_time(const GriddedLaw& law, Bytes bytes, GemmShape place) {
  const Seconds smooth = law.launch + bytes / law.bandwidth;
  const GemmCorrection& grid = law.correction;
  if (grid.log_ratio.empty()) return smooth;
  place.m = onto(grid.m, place.m);
  place.n = onto(grid.n, place.n);
  place.k = onto(grid.k, place.k);
  return correction_factor(grid, place) * smooth;
}

/// Time of attention over the cache.
///
///   t = correction(sequences x key heads, keys, query rows of a key head) (launch + cache bytes / bandwidth)
///
/// Source: the form follows split-key decoding (arXiv:2309.06180 and FlashDecoding): the kernel reads the cache once,
/// and few sequences do not fill the GPU. Constants are fitted on tables of attention over a cache. A GPU without such
/// a law reads the cache at the rate of its memory-bound kernels.
/// Holds for: equal sequences. A query that is checked by speculation counts as another query head.
/// Error: the law's evidence. Precondition: sequences, heads and cached tokens are at least 1.
Seconds cache_attention_time(const CacheAttentionShape& shape, const InferenceLaws& laws, const Profile& profile) {
  expects(shape.sequences >= 1 && shape.queries >= 1 && shape.heads >= 1 && shape.kv_heads >= 1 && shape.head_dim >= 1,
          "attention over a cache has sequences and heads");
  const CacheAttentionLaw* law = nearest_cache_law(laws.cache_attention, shape);
  if (law == nullptr) return memory_bound_time({shape.bytes()}, profile);
  return gridded_time(law->law, shape.bytes(), grid_place(shape));
}

Bytes narrow_product_bytes(const GemmShape& shape, NarrowWeights weights) {
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  return Bytes((bytes_per_weight(weights) * n * k + 2 * m * (n + k)) * static_cast<double>(shape.batch));
}

/// Time of a product of 16-bit rows with narrow weights.
///
///   t = correction(m, n, k) (launch + bytes / bandwidth), at most the largest m of its grid
///   t = max(that, the 16-bit product) beyond it
///
/// Source: weights are widened in registers, so few rows take as long as reading them (NVIDIA FasterTransformer and
/// TensorRT-LLM, weight-only plugins); many rows compute in 16 bits. Constants are fitted on tables. A GPU without a
/// law reads the weights at the rate of memory-bound kernels.
/// Error: the law's evidence. Precondition: every dimension >= 1; the profile has a 16-bit product.
Seconds narrow_product_time(const GemmShape& shape, NarrowWeights weights, const InferenceLaws& laws,
                            const Profile& profile) {
  const Bytes bytes = narrow_product_bytes(shape, weights);
  const auto found = std::find_if(laws.narrow_products.begin(), laws.narrow_products.end(),
                                  [&](const NarrowProductLaw& law) { return law.weights == weights; });
  const bool known = found != laws.narrow_products.end();
  const Seconds narrow = known ? gridded_time(found->law, bytes, shape) : memory_bound_time({bytes}, profile);
  const GemmCorrection* grid = known ? &found->law.correction : nullptr;
  constexpr double kFewRows = 64;  // without a grid: below it products are bound by memory on all GPUs
  const double few = grid != nullptr && !grid->log_ratio.empty() ? std::exp2(grid->m.last) : kFewRows;
  return static_cast<double>(shape.m) <= few ? narrow : std::max(narrow, gemm_time(shape, profile));
}

}  // namespace foretoken::cost

// The fitted costs of kernels that inference has and training has not (calibration/inference/NAME.json).
#pragma once

#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/evidence.h"
#include "sim/cost/kernels/gemm_law.h"
#include "sim/cost/profile.h"

namespace foretoken::cost {

/// t = correction (launch + bytes / bandwidth). The grid of the correction has axes of the kernel's own.
struct GriddedLaw {
  BytesPerSecond bandwidth{};
  Seconds launch{};
  GemmCorrection correction{};
  Evidence evidence{};
};

/// Attention of new tokens over the cache, for one head dimension and one width of the cache. The axes of its grid are
/// sequences x key heads (m), cached tokens of a sequence (n) and query rows of a key head (k).
struct CacheAttentionLaw {
  int head_dim = 128;
  bool latent = false;  ///< multi-head latent attention: all heads read one vector a token
  Precision cache = Precision::kBf16;
  GriddedLaw law{};
};

/// Bits of weights that are widened to 16 bits inside the product.
enum class NarrowWeights : std::uint8_t { kInt8, kInt4 };

/// Products of 16-bit rows with narrow weights. The axes of its grid are m, n and k of the product.
struct NarrowProductLaw {
  NarrowWeights weights = NarrowWeights::kInt8;
  GriddedLaw law{};
};

/// One-kernel all-reduce among `ranks` GPUs of a node: t = correction (latency + ring bytes / bandwidth).
struct CustomAllReduceLaw {
  int ranks = 2;
  Seconds latency{};
  BytesPerSecond bandwidth{};
  SizeCorrection correction{};
  Evidence evidence{};
};

/// Laws of one kind of GPU. A list may be empty: then the functions below fall back to the profile, as they say.
struct InferenceLaws {
  std::string name{};                ///< "h100-sxm5-80gb", as of the profile beside it
  std::vector<std::string> notes{};  ///< one line for each part: source, samples, residuals
  std::vector<CacheAttentionLaw> cache_attention{};
  std::vector<NarrowProductLaw> narrow_products{};
  std::vector<CustomAllReduceLaw> all_reduce{};  ///< ascending by ranks
};

}  // namespace foretoken::cost

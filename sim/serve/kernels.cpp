// Computes times of kernels of serving.
#include "sim/serve/kernels.h"

#include <algorithm>

#include "sim/cost/costs.h"

namespace foretoken::serve {

// Keys and values are read once. This is the roofline of the kernel: it reaches the rate of other memory-bound kernels.
Seconds cache_attention_time(const CacheAttention& shape, const cost::Profile& profile) {
  const double read = real(shape.sequences) * shape.cached * shape.token_bytes;
  return cost::memory_bound_time({Bytes(std::max(read, 1.0))}, profile);
}

// Weights of 8 or 4 bits are read in fewer bytes. The product itself takes as long as in 16 bits.
Seconds product_time(const GemmShape& shape, WeightPrecision precision, const cost::Profile& profile) {
  const Seconds time = cost::gemm_time(shape, profile);
  if (precision != WeightPrecision::kInt8 && precision != WeightPrecision::kInt4) return time;
  const double weights = real(shape.n) * real(shape.k) * real(shape.batch);
  const BytesPerSecond rate = profile.memory_bound.efficiency * profile.memory_bound.bandwidth;
  const Seconds all = Bytes(weights * 2) / rate, read = Bytes(weights * weight_bytes(precision)) / rate;
  GemmShape many = shape;
  many.m = std::max<std::int64_t>(shape.m, 4096);
  const Seconds computing = real(shape.m) / real(many.m) * cost::gemm_time(many, profile);
  return std::max({time - (all - read), read, computing});
}

Precision computes_in(WeightPrecision precision) {
  switch (precision) {
    case WeightPrecision::kFp16:
      return Precision::kFp16;
    case WeightPrecision::kFp8:
      return Precision::kFp8;
    case WeightPrecision::kFp8Block:
      return Precision::kFp8Block;
    case WeightPrecision::kNvfp4:
      return Precision::kNvfp4;
    case WeightPrecision::kBf16:
    case WeightPrecision::kInt8:
    case WeightPrecision::kInt4:
      return Precision::kBf16;
  }
  return Precision::kBf16;
}

}  // namespace foretoken::serve

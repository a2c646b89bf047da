// Sizes that every op of a layer shares: tokens of a rank, bytes of a tensor between two ops.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sim/model/layer_context.h"

namespace foretoken::model {

constexpr double kHalf = 2;  // bytes of a 16-bit element

struct Cut {
  const LayerContext& context;
  double tokens;   // T, of a tensor-parallel group
  double region;   // R, of each rank between the tensor-parallel regions
  std::int64_t T;  // the same as T as a GEMM size

  explicit Cut(const LayerContext& c)
      : context(c),
        tokens(c.tokens()),
        region(c.sequence_parallel ? tokens / c.tensor : tokens),
        T(static_cast<std::int64_t>(tokens)) {}

  /// Returns the cut of a part of the tokens, or of more tokens than the block has: at least one token.
  [[nodiscard]] Cut of_share(double share) const {
    if (share == 1) return *this;
    Cut part(*this);
    part.T = std::max<std::int64_t>(1, std::llround(tokens * share));
    part.region *= static_cast<double>(part.T) / tokens;
    part.tokens = static_cast<double>(part.T);
    return part;
  }

  /// Products read their operands in 8 or 4 bit.
  [[nodiscard]] bool quantises() const {
    return context.precision == Precision::kFp8 || context.precision == Precision::kNvfp4;
  }
  /// One scale for a whole tensor.
  [[nodiscard]] bool scales_tensors() const {
    return context.precision == Precision::kFp8 &&
           (context.fp8_recipe == Fp8Recipe::kDelayed || context.fp8_recipe == Fp8Recipe::kTensorwise);
  }
  [[nodiscard]] Precision product_precision() const {
    return context.precision == Precision::kFp8 && !scales_tensors() ? Precision::kFp8Block : context.precision;
  }
  /// The precision of products that are not quantised.
  [[nodiscard]] Precision wide_precision() const {
    if (is_wide(context.precision)) return context.precision;
    return context.precision == Precision::kFp16 ? Precision::kFp16 : Precision::kBf16;
  }
  /// Bytes of an element as products read it.
  [[nodiscard]] double element_bytes() const { return bytes_per_element(product_precision()); }
  /// Inputs of linear layers travel and are saved as their products read them.
  [[nodiscard]] double input_share() const { return quantises() ? element_bytes() / kHalf : 1; }
  /// Bytes of all T tokens, `width` elements each.
  [[nodiscard]] double whole_bytes(double width) const { return kHalf * tokens * width; }
  /// Bytes of a gather of tokens over tensor ranks; inputs of fp8 products are quantised before they travel.
  [[nodiscard]] double gathered_bytes(double width) const { return whole_bytes(width) * input_share(); }
  /// Bytes that one rank holds of a tensor of that width between the tensor-parallel regions.
  [[nodiscard]] double residual_bytes(double width) const { return whole_bytes(width) * residual_share(); }
  /// The same of the residual stream, which autocast keeps in fp32.
  [[nodiscard]] double stream_bytes(double width) const { return residual_bytes(width) * (context.autocast ? 2 : 1); }
  [[nodiscard]] double residual_share() const { return context.sequence_parallel ? 1.0 / context.tensor : 1.0; }
};

}  // namespace foretoken::model

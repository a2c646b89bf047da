// Fits fused attention on one machine's own measurements.
#pragma once

#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Returns the part of a sample's time that the kernel beside attention takes. It writes keys and values into a cache,
/// at the rate that the law of the head dimension states, or else at the rate of memory-bound kernels.
[[nodiscard]] Seconds beside_time(const measured::AttentionSample& sample, const cost::Profile& profile);

struct FittedAttention {
  std::vector<cost::AttentionLaw> laws, fp8;  ///< in 16 and in 8 bits
};

/// Fits a law for every head dimension, mask and width with at least six forward and six backward fused kernels.
/// Thirty forward kernels without backward ones suffice, too: the backward rate then keeps the proportion to the
/// forward rate that `known` has. Kernels with a window decide only the law's window overhang. Launch and rate of the
/// kernel that writes keys and values into a cache are fitted, too, where the times include it.
[[nodiscard]] FittedAttention fitted_attention(const cost::Profile& known, const measured::Samples& samples);

/// Replaces the laws of a profile by those that can be fitted. Those of engines of inference with the same
/// head dimension and mask go.
void fit_attention_kernels(cost::Profile& profile, const measured::Samples& samples);

}  // namespace foretoken::fit

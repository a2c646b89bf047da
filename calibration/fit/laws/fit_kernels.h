// Fits attention, memory-bound kernels and the host on one machine's own measurements.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// What a kernel beside attention takes of a sample's time: a launch and its bytes as other memory-bound kernels.
[[nodiscard]] Seconds beside_time(const measured::AttentionSample& sample, const cost::Profile& profile);

/// Replaces the law of every head dimension, mask and width with at least six forward and six backward fused kernels.
/// With thirty forward ones alone, the backward rate keeps its proportion to the forward one. Windows decide only the
/// overhang of a law.
void fit_attention_kernels(cost::Profile& profile, const measured::Samples& samples);

/// Fits efficiency and launch over all kernels whose data were not in the cache.
void fit_memory_bound(cost::Profile& profile, const measured::Samples& samples);

/// Takes the host time of a launch, when that was measured.
void fit_host(cost::Profile& profile, const measured::Samples& samples);

}  // namespace foretoken::fit

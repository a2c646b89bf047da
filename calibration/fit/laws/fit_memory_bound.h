// Fits memory-bound kernels on one machine's own measurements.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Fits efficiency and launch over all kernels whose data were not in the cache.
void fit_memory_bound(cost::Profile& profile, const measured::Samples& samples);

}  // namespace foretoken::fit

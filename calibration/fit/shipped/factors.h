// Factors on laws: measured kernels take this many times the law's time.
#pragma once

#include <vector>

#include "calibration/fit/recipes/gemm_recipe.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Returns the median of measured time over the law's time, for the products that the recipe selects. Throws
/// ConfigError when there are none.
[[nodiscard]] double median_over_law(const std::vector<measured::GemmSample>& products, const FactorOfRows& recipe,
                                     cost::GemmLaw law);

/// Returns the same median for fused attention.
[[nodiscard]] double median_over_law(const std::vector<measured::AttentionSample>& kernels, const FactorOfRows& recipe,
                                     const cost::AttentionLaws& laws);

}  // namespace foretoken::fit

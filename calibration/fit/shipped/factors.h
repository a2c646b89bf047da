// Factors of laws from measured kernels: how much longer they take than the law says.
#pragma once

#include <vector>

#include "calibration/fit/recipes/gemm_recipe.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Median of measured time over the law's, over the products that the recipe counts. Throws ConfigError without any.
[[nodiscard]] double median_over_law(const std::vector<measured::GemmSample>& products, const FactorOfRows& recipe,
                                     cost::GemmLaw law);

/// The same over fused attention.
[[nodiscard]] double median_over_law(const std::vector<measured::AttentionSample>& kernels, const FactorOfRows& recipe,
                                     const cost::AttentionLaws& laws);

}  // namespace foretoken::fit

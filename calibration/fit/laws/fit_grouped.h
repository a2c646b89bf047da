// Fits the law of grouped products on layers of experts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/numerics/residuals.h"
#include "calibration/import/experts_csv.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Fits constants of grouped products, and with them what the engine runs beside the products: a time, a time for each
/// row, and a rate for the copies of tokens. The activation between the products is memory-bound as the profile says.
///
/// Layers with fewer than 16 rows an expert are those of inference and stay out. So do shapes whose kernels were not
/// tuned: with fewer than 32 rows an expert, most of them take longer than reading the weights at half the bandwidth of
/// single products. One layer in five is held out. Samples have one precision, and `profile` has its law.
/// Returns nothing when fewer than 50 layers are left.
[[nodiscard]] std::optional<cost::GroupedLaw> fit_grouped(const std::vector<measured::ExpertSample>& samples,
                                                          const cost::Profile& profile, const std::string& source);

}  // namespace foretoken::fit

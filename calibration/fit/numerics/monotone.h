// Values made to rise: isotonic regression.
#pragma once

#include <vector>

namespace foretoken::fit {

/// The closest values (least squares) that rise by at least `least_rise[i]`, which may be negative, from i to i + 1.
/// Precondition: one value more than rises.
[[nodiscard]] std::vector<double> with_rises(std::vector<double> values, const std::vector<double>& least_rise);

}  // namespace foretoken::fit

// Makes values rise: isotonic regression.
#pragma once

#include <vector>

namespace foretoken::fit {

/// Returns the closest values (least squares) that rise by at least `least_rise[i]` from i to i + 1. A least rise may
/// be negative.
/// Precondition: one value more than rises.
[[nodiscard]] std::vector<double> with_rises(std::vector<double> values, const std::vector<double>& least_rise);

}  // namespace foretoken::fit

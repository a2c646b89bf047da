// Computes medians, and ends a measurement by its rule.
#include "calibration/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::measure {

void Series::add(Seconds run, int kernels) {
  expects(kernels >= 1, "a run holds at least one kernel");
  const Seconds each = run / kernels;
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), each), each);
  total_ += run;
}

Seconds Series::quantile(double q) const {
  expects(!sorted_.empty(), "a quantile needs a value");
  const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted_.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted_.size() - 1);
  const double part = place - static_cast<double>(below);
  return (1 - part) * sorted_[below] + part * sorted_[above];
}

double Series::relative_noise() const {
  const auto n = static_cast<double>(sorted_.size());
  if (n < 2) return std::numeric_limits<double>::infinity();
  const double half = std::sqrt(n) / (2 * n);  // as a share of the ranks
  return (quantile(0.5 + half) - quantile(0.5 - half)) / (2 * quantile(0.5));
}

bool Series::enough() const {
  const auto runs = static_cast<int>(sorted_.size());
  if (runs < rule_.fewest) return false;
  return runs >= rule_.most || total_ >= rule_.longest || relative_noise() <= rule_.relative_noise;
}

measured::Timing Series::timing() const {
  return {quantile(0.5), quantile(0.1), quantile(0.9), static_cast<int>(sorted_.size())};
}

}  // namespace foretoken::measure

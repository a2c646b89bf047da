// When a measurement is good enough, and what it comes to.
#pragma once

#include <vector>

#include "calibration/import/samples.h"

namespace foretoken::measure {

/// Runs go on until the median is known to `relative_noise` (its standard error over itself), but at least `fewest` and
/// at most `most` of them, and no longer than `longest` once there are `fewest`.
struct StoppingRule {
  double relative_noise = 0.01;
  int fewest = 10;
  int most = 300;
  Seconds longest{0.4};
};

/// Times of one kernel, run by run.
class Series {
 public:
  explicit Series(StoppingRule rule) : rule_(rule) {}

  /// `run` is one run's time, `kernels` how many kernels it held.
  void add(Seconds run, int kernels = 1);
  [[nodiscard]] bool enough() const;
  /// Standard error of the median over the median, from the order statistics about it (no distribution assumed):
  /// half the distance between the values of rank (n -+ sqrt(n)) / 2.
  [[nodiscard]] double relative_noise() const;
  /// Median, p10 and p90 of a kernel. Precondition: at least one run.
  [[nodiscard]] measured::Timing timing() const;

 private:
  [[nodiscard]] Seconds quantile(double q) const;

  StoppingRule rule_;
  std::vector<Seconds> sorted_;
  Seconds total_;
};

}  // namespace foretoken::measure

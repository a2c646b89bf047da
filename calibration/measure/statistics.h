// Ends a measurement when it is good enough, and sums it up.
#pragma once

#include <vector>

#include "calibration/import/samples.h"

namespace foretoken::measure {

/// The rule that ends runs. They go on until the median is known to `relative_noise` (its standard error over itself).
/// There are at least `fewest` and at most `most` runs. Once there are `fewest`, they take no longer than `longest`.
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

  /// Adds a run with its time and the number of kernels in it.
  void add(Seconds run, int kernels = 1);
  [[nodiscard]] bool enough() const;
  /// Returns the standard error of the median over the median. It follows from the order statistics about the median,
  /// without assuming a distribution: half the distance between the values of rank (n -+ sqrt(n)) / 2.
  [[nodiscard]] double relative_noise() const;
  /// Returns median, p10 and p90 of a kernel. Precondition: at least one run.
  [[nodiscard]] measured::Timing timing() const;

 private:
  [[nodiscard]] Seconds quantile(double q) const;

  StoppingRule rule_;
  std::vector<Seconds> sorted_;
  Seconds total_;
};

}  // namespace foretoken::measure

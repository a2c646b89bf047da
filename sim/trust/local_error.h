// The error to expect at one place, from the residuals of all cases. Near cases count most.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// The distance between two places.
struct Distance {
  int jumps = 0;       ///< number of differences among GPU kind, runtime and width of elements
  double octaves = 0;  ///< doublings between the numbers of GPUs, plus doublings between the numbers of parameters

  /// Returns how often the weight of a case halves over this distance: log2(50) times a jump, and once in 8 octaves.
  [[nodiscard]] double halvings() const;
};
[[nodiscard]] Distance distance(const Place& a, const Place& b);

/// Returns the kind of its GPUs as text shows it: "A100".
[[nodiscard]] std::string shown_kind(const Place& place);

/// The expected log(measured / predicted) of a run at a place.
struct LocalError {
  double mean = 0;      ///< shrunk towards zero when there is little evidence
  double own = 0;       ///< variance among the cases
  double distant = 0;   ///< variance for each unit of widening^2, from the distance of the cases
  double evidence = 0;  ///< sum of weights: about the number of near cases

  /// Returns the spread when another runtime or GPU adds `widening`.
  [[nodiscard]] double spread(double widening) const;
};

/// Weighs case i with
///
///   w = weight_i 50^(-jumps) 2^(-octaves / 8)
///
/// and takes its residual to this place at a variance of (widening (jumps + octaves / 16))^2. Half a case of unknown
/// place (a jump away, no bias) is always added. Cases that `counts` refuses are left out.
///
/// Source: ours. The three constants are round numbers, chosen by their effect: any number of cases of other runtimes
/// counts for less than a few of the same, and 65,536 times the GPUs are like another runtime. The numbers that decide
/// the width of intervals, `widening` and Width, are calibrated.
[[nodiscard]] LocalError local_error(const Place& place, const std::vector<Case>& cases,
                                     const std::function<bool(std::size_t)>& counts);

}  // namespace foretoken::trust

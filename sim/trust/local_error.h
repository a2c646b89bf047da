// The error to expect at one place: residuals of all cases, near ones first.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// How far two places are apart.
struct Distance {
  int jumps = 0;       ///< how many of GPU kind, runtime and width of elements differ
  double octaves = 0;  ///< doublings between the numbers of GPUs and of parameters, added

  /// The number of times that the weight of a case halves over this distance: log2(50) times a jump, once in 8 octaves.
  [[nodiscard]] double halvings() const;
};
[[nodiscard]] Distance distance(const Place& a, const Place& b);

/// The kind of its GPUs as text shows it: "A100".
[[nodiscard]] std::string shown_kind(const Place& place);

/// log(measured / predicted) of a run at a place, as the cases tell it.
struct LocalError {
  double mean = 0;      ///< shrunk towards zero when there is little evidence
  double own = 0;       ///< variance among the cases
  double distant = 0;   ///< variance for each unit of widening^2, because the cases stand elsewhere
  double evidence = 0;  ///< sum of weights: about the number of near cases

  /// Spread when another runtime or GPU adds `widening`.
  [[nodiscard]] double spread(double widening) const;
};

/// Weighs case i with
///
///   w = weight_i 50^(-jumps) 2^(-octaves / 8)
///
/// and takes its residual to this place at a variance of (widening (jumps + octaves / 16))^2; half a case of unknown
/// place (a jump away, no bias) is always added. Cases that `counts` refuses are left out.
/// Source: ours; the three constants are round numbers chosen for what they mean (any number of cases of other runtimes
/// counts for less than a few of the same; 65,536 times the GPUs are like another runtime). What decides how wide
/// intervals are, `widening` and Width, is calibrated.
[[nodiscard]] LocalError local_error(const Place& place, const std::vector<Case>& cases,
                                     const std::function<bool(std::size_t)>& counts);

}  // namespace foretoken::trust

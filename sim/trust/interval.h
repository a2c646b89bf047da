// The interval around a headline, the distribution of the measured step, and the cases that both rest on, in words.
#pragma once

#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/trust/evidence.h"

namespace foretoken::trust {

struct Interval {
  double level = 0;  ///< the part of runs expected inside: 0.9
  Seconds low, high;
  double distance = 0;              ///< from the nearest validated case, in steps
  int cases = 0;                    ///< the number of cases in `words`
  bool outside = false;             ///< a property has a value that no case near has, so the interval is wider
  std::vector<std::string> away{};  ///< these properties: "sequence length 131072 (validated up to 8192)"
  std::string words{};              ///< "12 cases on A100 with this runtime, ...: error -2.1 +/- 4.0 %"
};

/// Returns the distance between a place and the nearest case. Without cases it is the distance over which every kind
/// differs.
[[nodiscard]] double distance_to(const Place& place, const Evidence& evidence);

/// Returns the growth of an interval over a distance: sqrt(1 + growth distance).
[[nodiscard]] double spread_at(double distance, double growth);

/// Returns half the width of intervals of a level at a validated place, as a logarithm.
/// Precondition: `level` is one of evidence.widths.
[[nodiscard]] double width_at(const Evidence& evidence, double level);

/// Returns the interval that holds the measured step time of such a run with probability `level`:
///
///   headline exp(+/- width spread)
///
/// with the width of `level` and the spread at the distance of the place. The headline is its median. The width depends
/// on the distance alone and grows with it: of two runs the one farther from every case never has the narrower
/// interval.
///
/// Source: normalised conformal prediction (Lei et al., arXiv:1604.04173, section 5.2).
/// Error: its coverage is measured on every published case, see docs/modeller/validation.md.
/// Precondition: `level` is one of evidence.widths, headline > 0.
[[nodiscard]] Interval interval_of(const Place& place, Seconds headline, const Evidence& evidence, double level);

/// Returns log(measured / headline) that a part of all runs at a distance stays below. Errors have a sign here,
/// and their distribution need not be symmetric. Between the parts of evidence.quantiles, and beyond them, it is linear
/// in the quantile of a normal distribution.
/// Precondition: 0 < part < 1, at least two quantiles.
[[nodiscard]] double error_quantile(const Evidence& evidence, double distance, double part);

}  // namespace foretoken::trust

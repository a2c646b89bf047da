// The interval around a prediction, and the cases that it rests on, in words.
#pragma once

#include <string>

#include "sim/base/units.h"
#include "sim/trust/evidence.h"

namespace foretoken::trust {

struct Interval {
  double level = 0;  ///< the part of runs expected inside: 0.9
  Seconds low, high;
  int cases = 0;         ///< the number of cases in `words`
  bool outside = false;  ///< no case near was validated, so the interval is wider
  std::string words;     ///< "12 cases on A100 with this runtime, ...: error -2.1 +/- 4.0 %"
};

/// Returns half the width of intervals of a level, in local spreads. Precondition: `level` is one of evidence.widths.
[[nodiscard]] double width_at(const Evidence& evidence, double level);

/// Returns the interval that holds the measured step time of such a run with probability `level`:
///
///   predicted exp(mean +/- width spread)
///
/// with mean and spread of local_error() and the width of `level`. The interval always holds the prediction itself.
/// Source: normalised conformal prediction (Lei et al., arXiv:1604.04173, section 5.2).
/// Error: its coverage is measured on every published case, see docs/modeller/validation.md.
/// Precondition: `level` is one of evidence.widths, predicted > 0.
[[nodiscard]] Interval interval_of(const Place& place, Seconds predicted, const Evidence& evidence, double level);

}  // namespace foretoken::trust

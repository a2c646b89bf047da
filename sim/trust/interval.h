// The interval around a prediction, and in words what it rests on.
#pragma once

#include <string>

#include "sim/base/units.h"
#include "sim/trust/evidence.h"

namespace foretoken::trust {

struct Interval {
  double level = 0;  ///< the part of runs expected inside: 0.9
  Seconds low, high;
  int cases = 0;         ///< that `words` speaks of
  bool outside = false;  ///< nothing near was validated, and the interval is wider for it
  std::string words;     ///< "12 cases on A100 with this runtime, ...: error -2.1 +/- 4.0 %"
};

/// Half the width of intervals of a level, in local spreads. Precondition: `level` is one of evidence.widths.
[[nodiscard]] double width_at(const Evidence& evidence, double level);

/// Where the measured step time of a run like the predicted one lies with probability `level`:
///
///   predicted exp(mean +/- width spread)
///
/// with mean and spread of local_error(), the width of `level`, and always with the prediction itself inside.
/// Source: normalised conformal prediction (Lei et al., arXiv:1604.04173, section 5.2).
/// Error: what it covers is measured on every published case, see docs/modeller/validation.md.
/// Precondition: `level` is one of evidence.widths, predicted > 0.
[[nodiscard]] Interval interval_of(const Place& place, Seconds predicted, const Evidence& evidence, double level);

}  // namespace foretoken::trust

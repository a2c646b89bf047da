// Finds the interval around a predicted step time, from the validated cases near it.
#pragma once

#include <functional>

#include "sim/base/units.h"
#include "sim/job/job.h"
#include "sim/trust/evidence.h"
#include "sim/trust/interval.h"

namespace foretoken::study {

/// The validated cases that an interval rests on, and the part of all runs that it holds.
struct IntervalQuestion {
  std::reference_wrapper<const trust::Evidence> evidence;  ///< read once (io::read_shipped_residuals)
  double level = trust::kUsualLevel;                       ///< one of trust::kLevels
};

/// Returns the place of a job among the validated cases.
[[nodiscard]] trust::Place place_of(const job::Job& job);

/// Returns the interval of the measured step time when `predicted` is the prediction for `job`.
[[nodiscard]] trust::Interval interval_of(const job::Job& job, Seconds predicted, const IntervalQuestion& question);

}  // namespace foretoken::study

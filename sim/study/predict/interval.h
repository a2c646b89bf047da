// The place of a job among the validated cases, and from there its bias and its interval.
#pragma once

#include <functional>

#include "sim/base/units.h"
#include "sim/job/job.h"
#include "sim/trust/bias.h"
#include "sim/trust/evidence.h"
#include "sim/trust/interval.h"

namespace foretoken::study {

/// The validated cases that a headline and its interval rest on, and the part of all runs that the interval is to hold.
struct IntervalQuestion {
  std::reference_wrapper<const trust::Evidence> evidence;  ///< read once (io::read_shipped_residuals)
  double level = trust::kUsualLevel;                       ///< one of trust::kLevels
};

/// Returns where a job stands among the validated cases.
[[nodiscard]] trust::Place place_of(const job::Job& job);

/// Returns the bias of runs like a job. Configurations that a search compares have the same.
[[nodiscard]] trust::Bias bias_of(const job::Job& job, const trust::Evidence& evidence);

/// Returns where the measured step time lies when `headline` is predicted for `job`.
[[nodiscard]] trust::Interval interval_of(const job::Job& job, Seconds headline, const IntervalQuestion& question);

}  // namespace foretoken::study

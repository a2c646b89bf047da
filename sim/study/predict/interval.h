// The interval around a prediction, from the validated cases near it.
#pragma once

#include "sim/job/job.h"
#include "sim/report/metrics.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// Where a scenario stands among the validated cases.
[[nodiscard]] trust::Place place_of(const job::Job& job);

/// Fills metrics.interval. `evidence` is read once (io::read_shipped_residuals); `level` is one of trust::kLevels.
void add_interval(report::Metrics& metrics, const job::Job& job, const trust::Evidence& evidence,
                  double level = trust::kUsualLevel);

}  // namespace foretoken::study

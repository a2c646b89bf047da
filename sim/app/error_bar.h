// The interval around a prediction, from the validated cases near it.
#pragma once

#include "sim/lowering/scenario.h"
#include "sim/report/metrics.h"
#include "sim/trust/evidence.h"

namespace foretoken::app {

/// Where a scenario stands among the validated cases.
[[nodiscard]] trust::Place place_of(const lowering::Scenario& scenario);

/// Fills metrics.interval. `evidence` is read once (io::read_shipped_residuals); `level` is one of trust::kLevels.
void add_interval(report::Metrics& metrics, const lowering::Scenario& scenario, const trust::Evidence& evidence,
                  double level = trust::kUsualLevel);

}  // namespace foretoken::app

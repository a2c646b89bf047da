// Lists the validated cases with a published step time, for comparison with a prediction.
#pragma once

#include <vector>

#include "sim/study/near/near_runs.h"

namespace foretoken::validate {

/// Returns the cases of all sets, in the order of the sets' names. Throws ConfigError when a set cannot be read.
[[nodiscard]] std::vector<study::MeasuredRun> measured_runs();

}  // namespace foretoken::validate

// Every validated case whose step time was published, as the runs that a prediction can be set beside.
#pragma once

#include <vector>

#include "sim/study/near/near_runs.h"

namespace foretoken::validate {

/// The cases of all sets, in the order of the sets' names. Throws ConfigError when a set cannot be read.
[[nodiscard]] std::vector<study::MeasuredRun> measured_runs();

}  // namespace foretoken::validate

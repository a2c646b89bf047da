// A hand-written A100-80GB profile for tests and benchmarks that must not read files.
#pragma once

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Returns rounded constants of an A100-SXM4-80GB. Predictions use calibration/profiles/a100-sxm4-80gb.json instead.
[[nodiscard]] Profile example_a100_profile();

}  // namespace foretoken::cost

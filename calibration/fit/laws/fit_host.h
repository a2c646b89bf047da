// Sets the host's time of a launch from one machine's own measurements.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Sets the host time of a launch to its measured median, if it was measured.
void fit_host(cost::Profile& profile, const measured::Samples& samples);

}  // namespace foretoken::fit

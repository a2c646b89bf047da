// Fits the laws of exchanges of tokens with experts.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Replaces the law of each phase of a library that has forty exchanges inside a node, and its part across nodes where
/// the phase has forty of them, too. A law that was not measured across nodes keeps the part that the profile has.
/// A new law starts at the profile's NVLink rate.
///
/// One shape in five is held out, with every number of multiprocessors. The fit minimises the mean error in log space.
void fit_exchanges(cost::Profile& profile, const measured::Samples& samples);

}  // namespace foretoken::fit

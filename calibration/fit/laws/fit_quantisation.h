// Fits the casts and scans that bring tensors to 8 bit.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Replaces the quantisation of the profile where both casts and scans were measured, forty of each. One size in five
/// is held out. A profile without such a law takes its memory bandwidth as the datasheet's.
void fit_quantisation(cost::Profile& profile, const measured::Samples& samples);

/// Returns the time of the quantisation of a product's input. Returns zero when the sample's time does not include it.
[[nodiscard]] Seconds quantisation_of(const measured::GemmSample& sample, const cost::Profile& profile);

}  // namespace foretoken::fit

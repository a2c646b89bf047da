// Fits what engines of inference add to the laws of attention.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Gives each law of attention the constants of every engine whose kernels have its head dimension, mask and width.
/// The law stays. Kernels with a window have constants of their own. Each constant takes twenty kernels of 512 tokens
/// and more. The laws lose older constants.
void fit_engines(cost::AttentionLaws& attention, const measured::Samples& samples);

}  // namespace foretoken::fit

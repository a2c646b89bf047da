// Whole layers: the sum of their kernels by a profile's laws, and what measured layers say about the clock.
#pragma once

#include <optional>

#include "calibration/import/samples.h"
#include "sim/base/units.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// A layer at least this long has little of its time in launches.
inline constexpr Seconds kLongLayer(1e-3);

/// The predicted times of a layer's products and of its other kernels, each summed.
struct LayerTime {
  Seconds products{}, others{};
  [[nodiscard]] Seconds all() const { return products + others; }
};

/// Returns the predicted time of the layer. Precondition: the profile has a law for products in bf16.
[[nodiscard]] LayerTime layer_time(const measured::LayerSample& sample, const cost::Profile& profile);

/// Returns the factor on the products of `profile` that gives layers of 1 ms and more their measured time: the median
/// over the layers, at least 1. A layer runs at the clocks of training: its other kernels draw less power than
/// products do. Returns nothing with fewer than six such layers, or without a law for products in bf16.
[[nodiscard]] std::optional<double> sustained_factor_of_layers(const measured::Samples& samples,
                                                               const cost::Profile& profile);

}  // namespace foretoken::fit

// Fits the products of an engine's own kernels, relative to a profile.
#pragma once

#include <optional>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/kernels/engine_products.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Returns the law of the products of one precision. It has a knot for each of three classes of rows (m): up to 128,
/// between 128 and 1,024, and from 1,024 on. One shape in five is held out, and gives the errors. Products of more than
/// half a millisecond stay out: they lower the clock. Returns nothing where a class has fewer than 100 products,
/// where the law takes less than a tenth off the misfit of the profile's own, or where it misses the held-out products
/// by more than 15 % (median).
[[nodiscard]] std::optional<cost::EngineProductsLaw> fit_engine_products(const measured::Samples& samples,
                                                                         Precision precision,
                                                                         const cost::Profile& profile);

}  // namespace foretoken::fit

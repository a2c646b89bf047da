// Fits what the smooth law of a collective misses at each size.
#pragma once

#include <functional>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// One measurement against the law without a correction.
struct SizePull {
  double bytes = 0;
  double log_ratio = 0;  ///< log(measured / law)
};

/// A knot for each octave over the sizes seen; robust, barely smoothed; the corrected time never falls with
/// size. `law_seconds(bytes)` is the law alone. Without four octaves of sizes: no correction.
[[nodiscard]] cost::SizeCorrection fit_size_correction(const std::vector<SizePull>& pulls,
                                                       const std::function<double(double)>& law_seconds);

}  // namespace foretoken::fit

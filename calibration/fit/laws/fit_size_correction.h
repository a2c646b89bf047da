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

/// A knot for each octave over the sizes seen. Tables of several machines: robust, barely smoothed; the corrected time
/// never falls with size. `law_seconds(bytes)` is the law alone. Without four octaves of sizes: no correction.
[[nodiscard]] cost::SizeCorrection fit_size_trend(const std::vector<SizePull>& pulls,
                                                  const std::function<double(double)>& law_seconds);

/// The same for one machine, whose rows count as they stand: it passes through them, also where the machine needs
/// longer for fewer bytes. Without two octaves of sizes: no correction.
[[nodiscard]] cost::SizeCorrection follow_sizes(const std::vector<SizePull>& pulls);

}  // namespace foretoken::fit

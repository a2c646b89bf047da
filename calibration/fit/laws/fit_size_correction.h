// Fits the error of a collective's smooth law at each size.
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

/// Fits a line with a knot for each octave over the measured sizes, for tables of several machines. It is robust and
/// barely smoothed. The corrected time never falls with size. `law_seconds(bytes)` is the law without a correction.
/// Returns no correction when the sizes span less than four octaves.
[[nodiscard]] cost::SizeCorrection fit_size_trend(const std::vector<SizePull>& pulls,
                                                  const std::function<double(double)>& law_seconds);

/// Fits a line for one machine, whose rows all count in full. It passes through them, even where the machine needs
/// longer for fewer bytes. Returns no correction when all rows have the same power of two as size.
[[nodiscard]] cost::SizeCorrection follow_sizes(const std::vector<SizePull>& pulls);

}  // namespace foretoken::fit

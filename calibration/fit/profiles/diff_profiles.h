// Compares two profiles: side by side in text, and as a plot.
#pragma once

#include <string>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Writes the times of the same kernels and collectives on both, and b relative to a. Ends with a newline.
[[nodiscard]] std::string diff_profiles(const cost::Profile& a, const cost::Profile& b);

/// Draws both as curves in one SVG: the rate of square products against their size, and the bus bandwidth of an
/// all-reduce among eight GPUs of a node against its size.
[[nodiscard]] std::string plot_profiles(const cost::Profile& a, const cost::Profile& b);

}  // namespace foretoken::fit

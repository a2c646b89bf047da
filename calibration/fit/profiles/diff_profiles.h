// Two profiles for the eye: side by side, and as a plot.
#pragma once

#include <string>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// The same kernels and collectives on both: time of each, and b relative to a. Ends with a newline.
[[nodiscard]] std::string diff_profiles(const cost::Profile& a, const cost::Profile& b);

/// Both as curves in one SVG: rate of square products against their size, and bus bandwidth of an all-reduce among
/// eight GPUs of a node against its size.
[[nodiscard]] std::string plot_profiles(const cost::Profile& a, const cost::Profile& b);

}  // namespace foretoken::fit

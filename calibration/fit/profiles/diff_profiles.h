// Compares two profiles: side by side in text, and as a plot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::fit {

/// The time of one kernel or collective on two profiles; absent where the profile cannot do it.
struct ComparedWork {
  std::string name;
  std::optional<Seconds> a, b;
};

/// Returns the times of typical kernels and collectives on both.
[[nodiscard]] std::vector<ComparedWork> compare_profiles(const cost::Profile& a, const cost::Profile& b);

/// Writes the times of the same kernels and collectives on both, and b relative to a. Ends with a newline.
[[nodiscard]] std::string diff_profiles(const cost::Profile& a, const cost::Profile& b);

/// Draws both as curves in one SVG: the rate of square products against their size, and the bus bandwidth of an
/// all-reduce among eight GPUs of a node against its size.
[[nodiscard]] std::string plot_profiles(const cost::Profile& a, const cost::Profile& b);

}  // namespace foretoken::fit

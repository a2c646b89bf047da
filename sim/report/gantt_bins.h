// Joins bars of a Gantt row that are too dense to draw, into stretches with the share of each activity.
#pragma once

#include <array>
#include <vector>

#include "sim/report/gantt.h"

namespace foretoken::report {

inline constexpr std::size_t kActivities = 9;

/// A stretch of time with the share of each Activity. The rest is idle.
struct Stretch {
  double begin = 0, end = 0;  ///< in picoseconds; binned(): in bins
  std::array<double, kActivities> share{};
};

/// Cuts [0, length) into `bins` equal bins and sums up `bars`.
[[nodiscard]] std::vector<Stretch> binned(const std::vector<GanttBar>& bars, des::Duration length, std::size_t bins);

/// Joins bars of the same rhythm into one stretch: bars of one activity, or of several that take turns. Idle time
/// longer than `gap_ps` ends a stretch. A stretch begins and ends exactly with its first and last bar.
[[nodiscard]] std::vector<Stretch> condensed(const std::vector<GanttBar>& bars, double gap_ps);

}  // namespace foretoken::report

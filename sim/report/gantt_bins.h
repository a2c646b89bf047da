// Stretches of a Gantt row too dense to draw pass by pass, with the shares of what happened in them.
#pragma once

#include <array>
#include <vector>

#include "sim/report/gantt.h"

namespace foretoken::report {

inline constexpr std::size_t kActivities = 8;

/// A stretch of time and, by Activity, the part of it that each takes; the rest is idle.
struct Stretch {
  double begin = 0, end = 0;  ///< in picoseconds; binned(): in bins
  std::array<double, kActivities> share{};
};

/// Cuts [0, length) into `bins` equal bins and sums up `bars`.
[[nodiscard]] std::vector<Stretch> binned(const std::vector<GanttBar>& bars, des::Duration length, std::size_t bins);

/// Runs of bars in the same rhythm (one activity throughout, or several taking turns) with no idle time longer than
/// `gap_ps` in between, as one stretch each. The first and the last bar of a run keep their exact times.
[[nodiscard]] std::vector<Stretch> condensed(const std::vector<GanttBar>& bars, double gap_ps);

}  // namespace foretoken::report

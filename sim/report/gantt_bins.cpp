// Sums up bars in bins, equal slices of the time axis. A bar counts in a bin by the part of the bin that it covers.
#include "sim/report/gantt_bins.h"

#include <algorithm>

namespace foretoken::report {
namespace {

// Returns true when activities take turns around a bar: at least two changes among it and the two bars on either side,
// as far as no idle time separates them.
bool takes_turns(const std::vector<GanttBar>& bars, std::size_t at, double gap_ps) {
  int changes = 0;
  for (std::size_t b = at < 2 ? 1 : at - 1; b <= at + 2 && b < bars.size(); ++b) {
    const bool together = static_cast<double>(bars[b].begin.ps - bars[b - 1].end.ps) <= gap_ps;
    if (!together && b <= at) changes = 0;
    if (!together && b > at) break;
    changes += together && bars[b].activity != bars[b - 1].activity ? 1 : 0;
  }
  return changes > 1;
}

}  // namespace

std::vector<Stretch> binned(const std::vector<GanttBar>& bars, des::Duration length, std::size_t bins) {
  std::vector<Stretch> stretches(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    stretches[b].begin = static_cast<double>(b);
    stretches[b].end = static_cast<double>(b + 1);
  }
  if (length.ps == 0) return stretches;
  const double scale = static_cast<double>(bins) / static_cast<double>(length.ps);
  for (const GanttBar& bar : bars) {
    const double begin = static_cast<double>(bar.begin.ps) * scale, end = static_cast<double>(bar.end.ps) * scale;
    for (auto b = static_cast<std::size_t>(begin); b < bins && static_cast<double>(b) < end; ++b) {
      double& share = stretches[b].share[static_cast<std::size_t>(bar.activity)];
      share += std::min(end, stretches[b].end) - std::max(begin, stretches[b].begin);
    }
  }
  for (Stretch& stretch : stretches)
    for (double& share : stretch.share) share = std::min(share, 1.0);
  return stretches;
}

std::vector<Stretch> condensed(const std::vector<GanttBar>& bars, double gap_ps) {
  std::vector<Stretch> out;
  bool turns = false;
  for (std::size_t b = 0; b < bars.size(); ++b) {
    const auto begin = static_cast<double>(bars[b].begin.ps), end = static_cast<double>(bars[b].end.ps);
    const bool now = takes_turns(bars, b, gap_ps);
    const bool other_rhythm = b == 0 || now != turns || (!now && bars[b].activity != bars[b - 1].activity);
    if (other_rhythm || begin - out.back().end > gap_ps) out.push_back({begin, end, {}});
    turns = now;
    out.back().end = std::max(out.back().end, end);
    out.back().share[static_cast<std::size_t>(bars[b].activity)] += end - begin;
  }
  for (Stretch& stretch : out)
    for (double& share : stretch.share)
      share = stretch.end > stretch.begin ? std::min(1.0, share / (stretch.end - stretch.begin)) : 0;
  return out;
}

}  // namespace foretoken::report

// Bins are equal slices of the time axis; a bar counts in each bin by the part of the bin that it covers.
#include "sim/report/gantt_bins.h"

#include <algorithm>
#include <cmath>

namespace foretoken::report {
namespace {

bool alike(const Stretch& a, const Stretch& b, double tolerance) {
  for (std::size_t k = 0; k < kActivities; ++k)
    if (std::abs(a.share[k] - b.share[k]) > tolerance) return false;
  return true;
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

std::vector<Stretch> joined(const std::vector<Stretch>& stretches, double tolerance) {
  std::vector<Stretch> out;
  for (const Stretch& next : stretches) {
    if (out.empty() || !alike(out.back(), next, tolerance)) {
      out.push_back(next);
      continue;
    }
    Stretch& last = out.back();
    const double before = last.end - last.begin, all = next.end - last.begin;
    for (std::size_t k = 0; k < kActivities; ++k)
      last.share[k] = (last.share[k] * before + next.share[k] * (next.end - next.begin)) / all;
    last.end = next.end;
  }
  return out;
}

}  // namespace foretoken::report

// Live bytes of a stage over the step: every point lifts the bins from itself to the next point.
#include "sim/html/memory_curve.h"

#include <algorithm>

namespace foretoken::html {

double static_bytes(const ReportData& data, std::size_t stage) {
  const report::StageMemory& fixed = data.base.metrics.memory.per_stage[stage];
  const Bytes other = fixed.other - data.base.memory[stage].transient_at_peak;
  return (fixed.weights + fixed.gradients + fixed.optimizer + other).value();
}

std::vector<MemoryBin> memory_bins(const ReportData& data, std::size_t stage, std::size_t bins) {
  std::vector<MemoryBin> out(bins);
  const std::vector<observe::MemoryPoint>& points = data.base.memory[stage].points;
  const auto length = static_cast<double>(data.base.observations.makespan.ps);
  const auto bin_of = [&](des::Instant at) {
    const auto bin = static_cast<std::size_t>(static_cast<double>(at.ps) / length * static_cast<double>(bins));
    return std::min(bin, bins - 1);
  };
  for (std::size_t p = 0; p < points.size(); ++p) {
    const std::size_t last = p + 1 < points.size() ? bin_of(points[p + 1].at) : bins - 1;
    for (std::size_t b = bin_of(points[p].at); b <= last; ++b) {
      out[b].activations = std::max(out[b].activations, points[p].activations.value());
      out[b].total = std::max(out[b].total, (points[p].activations + points[p].transient).value());
    }
  }
  return out;
}

}  // namespace foretoken::html

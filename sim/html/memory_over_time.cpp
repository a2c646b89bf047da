// Draws the live bytes of a stage over the step. Every point fills the bins from itself to the next point.
#include "sim/html/memory_over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/html/areas_over_time.h"

namespace foretoken::html {
namespace {

std::vector<Area> areas_of(const ReportData& data, Stage stage) {
  const report::StageMemory& m = data.base.metrics.memory.per_stage[stage];
  // `other` holds workspaces and short-lived tensors.
  const Bytes workspaces = m.other - data.base.memory[stage].transient_at_peak;
  const auto fixed = [](const char* name, const char* style, Bytes bytes) {
    return Area{name, style, std::vector(kTimeBins, bytes.value() / kGiB)};
  };
  std::vector<Area> areas{fixed("weights", "c-weights", m.weights), fixed("gradients", "c-gradients", m.gradients),
                          fixed("optimizer state", "c-optimizer", m.optimizer),
                          fixed("workspaces", "c-workspaces", workspaces)};
  Area activations = fixed("activations", "c-activations", Bytes(0));
  Area transient = fixed("short-lived", "c-workspaces", Bytes(0));
  const std::vector<observe::MemoryPoint>& points = data.base.memory[stage].points;
  const auto length = static_cast<double>(data.base.run.makespan.ps);
  const auto bin_of = [&](des::Instant at) {
    return std::min(static_cast<std::size_t>(static_cast<double>(at.ps) / length * kTimeBins), kTimeBins - 1);
  };
  std::vector<double> total(kTimeBins);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const std::size_t last = p + 1 < points.size() ? bin_of(points[p + 1].at) : kTimeBins - 1;
    for (std::size_t b = bin_of(points[p].at); b <= last; ++b) {
      activations.values[b] = std::max(activations.values[b], points[p].activations.value() / kGiB);
      total[b] = std::max(total[b], (points[p].activations + points[p].transient).value() / kGiB);
    }
  }
  for (std::size_t b = 0; b < kTimeBins; ++b) transient.values[b] = total[b] - activations.values[b];
  areas.push_back(std::move(activations));
  areas.push_back(std::move(transient));
  return areas;
}

}  // namespace

std::string memory_over_time(const ReportData& data, Stage stage) {
  const report::Memory& memory = data.base.metrics.memory;
  const double limit = (memory.capacity - memory.outside_allocator).value() / kGiB;
  return areas_over_time({.title = fmt::format("Memory of stage {} over one step", stage.number()),
                          .areas = areas_of(data, stage),
                          .seconds = data.base.metrics.simulated_step_time.value(),
                          .high = std::max(limit, memory.per_stage[stage].peak.value() / kGiB) * 1.05,
                          .unit = " GiB",
                          .limit = {{"capacity inside the allocator", limit}}});
}

}  // namespace foretoken::html

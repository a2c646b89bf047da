// Draws the live bytes of a stage over the step. Every point fills the bins from itself to the next point.
#include "sim/html/memory_over_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/draw/axis.h"
#include "sim/draw/svg.h"
#include "sim/html/live_chart.h"

namespace foretoken::html {
namespace {

using draw::round_ticks;
using draw::Svg;
using draw::tick_time;

using Json = nlohmann::ordered_json;

constexpr double kAreasWidth = 1000, kAreasHeight = 250;
constexpr std::size_t kBins = 460;

/// One kind of tensors, stacked on the areas before it: GiB of each bin.
struct Area {
  const char* name;
  const char* style;
  std::vector<double> gib;
};

std::vector<Area> areas_of(const ReportData& data, Stage stage) {
  const report::StageMemory& m = data.base.metrics.memory.per_stage[stage];
  // `other` holds workspaces and short-lived tensors.
  const Bytes workspaces = m.other - data.base.memory[stage].transient_at_peak;
  const auto fixed = [](const char* name, const char* style, Bytes bytes) {
    return Area{name, style, std::vector(kBins, bytes.value() / kGiB)};
  };
  std::vector<Area> areas{fixed("weights", "c-weights", m.weights), fixed("gradients", "c-gradients", m.gradients),
                          fixed("optimizer state", "c-optimizer", m.optimizer),
                          fixed("workspaces", "c-workspaces", workspaces)};
  Area activations = fixed("activations", "c-activations", Bytes(0));
  Area transient = fixed("short-lived", "c-workspaces", Bytes(0));
  const std::vector<observe::MemoryPoint>& points = data.base.memory[stage].points;
  const auto length = static_cast<double>(data.base.run.makespan.ps);
  const auto bin_of = [&](des::Instant at) {
    return std::min(static_cast<std::size_t>(static_cast<double>(at.ps) / length * kBins), kBins - 1);
  };
  std::vector<double> total(kBins);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const std::size_t last = p + 1 < points.size() ? bin_of(points[p + 1].at) : kBins - 1;
    for (std::size_t b = bin_of(points[p].at); b <= last; ++b) {
      activations.gib[b] = std::max(activations.gib[b], points[p].activations.value() / kGiB);
      total[b] = std::max(total[b], (points[p].activations + points[p].transient).value() / kGiB);
    }
  }
  for (std::size_t b = 0; b < kBins; ++b) transient.gib[b] = total[b] - activations.gib[b];
  areas.push_back(std::move(activations));
  areas.push_back(std::move(transient));
  return areas;
}

struct Axes {
  AxisData time, gib;
  double limit;  ///< GiB that the allocator may fill
};

Axes axes_of(const ReportData& data, Stage stage) {
  const report::Memory& memory = data.base.metrics.memory;
  const double limit = (memory.capacity - memory.outside_allocator).value() / kGiB;
  const double full = std::max(limit, memory.per_stage[stage].peak.value() / kGiB) * 1.05;
  Axes axes{.time = {.high = data.base.metrics.simulated_step_time.value()}, .gib = {.high = full}, .limit = limit};
  for (const double tick : round_ticks(0, axes.time.high, 8)) axes.time.ticks.emplace_back(tick, tick_time(tick));
  for (const double tick : round_ticks(0, full, 5))
    axes.gib.ticks.emplace_back(tick, fmt::format("{:g}{}", tick, tick == 0 ? " GiB" : ""));
  return axes;
}

std::string drawing(const std::vector<Area>& areas, const Axes& axes, std::string_view title) {
  constexpr double kLeft = 76, kRight = 24, kTop = 20, kBottom = 26;
  Svg svg(kAreasWidth, kAreasHeight, title);
  const auto x_of = [&](double part) { return kLeft + part * (kAreasWidth - kLeft - kRight); };
  const auto y_of = [&](double gib) {
    return kAreasHeight - kBottom - gib / axes.gib.high * (kAreasHeight - kTop - kBottom);
  };
  std::vector<double> top(kBins);
  std::vector<std::string> outlines;
  for (const Area& area : areas) {
    std::string outline = fmt::format("M{:.1f} {:.1f}", kLeft, y_of(0));
    for (std::size_t b = 0; b < kBins; ++b)
      outline += fmt::format("V{:.1f}H{:.1f}", y_of(top[b] += area.gib[b]), x_of(static_cast<double>(b + 1) / kBins));
    outlines.push_back(outline + fmt::format("V{:.1f}Z", y_of(0)));
  }
  for (std::size_t a = areas.size(); a-- > 0;) svg.path(areas[a].style, outlines[a]);
  for (const auto& [tick, label] : axes.gib.ticks) {
    svg.line("grid over", kLeft, y_of(tick), kAreasWidth - kRight, y_of(tick));
    svg.text("num dim", kLeft - 8, y_of(tick) + 4, "end", label);
  }
  for (const auto& [tick, label] : axes.time.ticks)
    svg.text("num dim", x_of(tick / axes.time.high), kAreasHeight - 8, "middle", label);
  svg.line("limit", kLeft, y_of(axes.limit), kAreasWidth - kRight, y_of(axes.limit));
  return svg.take();
}

// Writes bins as points. Each value holds until the next point.
Json data_of(const std::vector<Area>& areas, const Axes& axes, std::string_view title) {
  Json data{{"title", title},
            {"aspect", kAreasWidth / kAreasHeight},
            {"x", json_of(axes.time)},
            {"y", json_of(axes.gib)},
            {"series", Json::array()}};
  std::vector<double> times(kBins + 1);
  for (std::size_t b = 0; b <= kBins; ++b) times[b] = rounded(axes.time.high * static_cast<double>(b) / kBins);
  for (const Area& area : areas) {
    Json series{{"name", area.name}, {"style", area.style}, {"stacked", true}, {"x", times}};
    for (const double gib : area.gib) series["y"].push_back(rounded(gib));
    series["y"].push_back(rounded(area.gib.back()));
    data["series"].push_back(std::move(series));
  }
  data["series"].push_back({{"name", "capacity inside the allocator"},
                            {"style", "limit"},
                            {"dashed", true},
                            {"x", {0, rounded(axes.time.high)}},
                            {"y", {rounded(axes.limit), rounded(axes.limit)}}});
  return data;
}

}  // namespace

std::string memory_over_time(const ReportData& data, Stage stage) {
  const std::vector<Area> areas = areas_of(data, stage);
  const Axes axes = axes_of(data, stage);
  const std::string title = fmt::format("Memory of stage {} over one step", stage.number());
  return live_chart(data_of(areas, axes, title), drawing(areas, axes, title));
}

}  // namespace foretoken::html

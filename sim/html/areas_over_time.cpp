// Draws stacked areas in steps.
#include "sim/html/areas_over_time.h"

#include <fmt/format.h>

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

struct AreaAxes {
  AxisData time, value;
};

AreaAxes axes_of(const AreasOverTime& chart) {
  AreaAxes axes{.time = {.high = chart.seconds}, .value = {.high = chart.high}};
  for (const double tick : round_ticks(0, axes.time.high, 8)) axes.time.ticks.emplace_back(tick, tick_time(tick));
  for (const double tick : round_ticks(0, axes.value.high, 5))
    axes.value.ticks.emplace_back(tick, fmt::format("{:g}{}", tick, tick == 0 ? chart.unit : ""));
  return axes;
}

std::string drawing(const AreasOverTime& chart, const AreaAxes& axes) {
  constexpr double kLeft = 76, kRight = 24, kTop = 20, kBottom = 26;
  Svg svg(kAreasWidth, kAreasHeight, chart.title);
  const auto x_of = [&](double part) { return kLeft + part * (kAreasWidth - kLeft - kRight); };
  const auto y_of = [&](double value) {
    return kAreasHeight - kBottom - value / axes.value.high * (kAreasHeight - kTop - kBottom);
  };
  std::vector<double> top(kTimeBins);
  std::vector<std::string> outlines;
  for (const Area& area : chart.areas) {
    std::string outline = fmt::format("M{:.1f} {:.1f}", kLeft, y_of(0));
    for (std::size_t b = 0; b < kTimeBins; ++b)
      outline +=
          fmt::format("V{:.1f}H{:.1f}", y_of(top[b] += area.values[b]), x_of(static_cast<double>(b + 1) / kTimeBins));
    outlines.push_back(outline + fmt::format("V{:.1f}Z", y_of(0)));
  }
  for (std::size_t a = chart.areas.size(); a-- > 0;) svg.path(chart.areas[a].style, outlines[a]);
  for (const auto& [tick, label] : axes.value.ticks) {
    svg.line("grid over", kLeft, y_of(tick), kAreasWidth - kRight, y_of(tick));
    svg.text("num dim", kLeft - 8, y_of(tick) + 4, "end", label);
  }
  for (const auto& [tick, label] : axes.time.ticks)
    svg.text("num dim", x_of(tick / axes.time.high), kAreasHeight - 8, "middle", label);
  if (chart.limit) svg.line("limit", kLeft, y_of(chart.limit->second), kAreasWidth - kRight, y_of(chart.limit->second));
  return svg.take();
}

// Writes bins as points. Each value holds until the next point.
Json data_of(const AreasOverTime& chart, const AreaAxes& axes) {
  Json data{{"title", chart.title},
            {"aspect", kAreasWidth / kAreasHeight},
            {"x", json_of(axes.time)},
            {"y", json_of(axes.value)},
            {"series", Json::array()}};
  std::vector<double> times(kTimeBins + 1);
  for (std::size_t b = 0; b <= kTimeBins; ++b) times[b] = rounded(axes.time.high * static_cast<double>(b) / kTimeBins);
  for (const Area& area : chart.areas) {
    Json series{{"name", area.name}, {"style", area.style}, {"stacked", true}, {"x", times}};
    for (const double value : area.values) series["y"].push_back(rounded(value));
    series["y"].push_back(rounded(area.values.back()));
    data["series"].push_back(std::move(series));
  }
  if (chart.limit)
    data["series"].push_back({{"name", chart.limit->first},
                              {"style", "limit"},
                              {"dashed", true},
                              {"x", {0, rounded(axes.time.high)}},
                              {"y", {rounded(chart.limit->second), rounded(chart.limit->second)}}});
  return data;
}

}  // namespace

std::string areas_over_time(const AreasOverTime& chart) {
  const AreaAxes axes = axes_of(chart);
  return live_chart(data_of(chart, axes), drawing(chart, axes));
}

}  // namespace foretoken::html

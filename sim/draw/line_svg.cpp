// Draws curves over a logarithmic axis of sizes.
#include "sim/draw/line_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/draw/svg.h"
#include "sim/report/text/number.h"

namespace foretoken::draw {
namespace {

constexpr double kChartLeft = 84, kChartRight = 18, kChartTop = 34, kChartBottom = 46;

// Converts data to drawing units.
class Scale {
 public:
  explicit Scale(const LineChart& chart) : chart_(chart) {
    bool first = true;
    for (const Curve& curve : chart.curves)
      for (const CurvePoint& p : curve.points) {
        const double low = p.interval ? p.interval->first : p.y, high = p.interval ? p.interval->second : p.y;
        x_low_ = first ? p.x : std::min(x_low_, p.x);
        x_high_ = first ? p.x : std::max(x_high_, p.x);
        y_low_ = first ? low : std::min(y_low_, low);
        y_high_ = first ? high : std::max(y_high_, high);
        first = false;
      }
    x_low_ /= 1.15;
    x_high_ *= 1.15;
    constexpr double kLeast = 1e-300;  // less is as good as 0, and has no place on a logarithmic axis
    is_logarithmic_ = chart.logarithmic_y && y_low_ > kLeast;
    if (is_logarithmic_) {
      y_low_ /= 1.25;
      y_high_ *= 1.25;
    } else {
      y_low_ = 0;
      y_high_ = y_high_ > kLeast ? 1.08 * y_high_ : 1;
    }
  }

  [[nodiscard]] double x(double value) const {
    return kChartLeft +
           std::log(value / x_low_) / std::log(x_high_ / x_low_) * (chart_.width - kChartLeft - kChartRight);
  }

  [[nodiscard]] double y(double value) const {
    const double part =
        is_logarithmic_ ? std::log(value / y_low_) / std::log(y_high_ / y_low_) : (value - y_low_) / (y_high_ - y_low_);
    return chart_.height - kChartBottom - part * (chart_.height - kChartTop - kChartBottom);
  }
  /// Returns the sizes of all points and their labels.
  [[nodiscard]] AxisData x_axis() const {
    AxisData axis{.title = chart_.x_title, .is_logarithmic = true, .low = x_low_, .high = x_high_, .ticks = {}};
    std::set<double> sizes;
    for (const Curve& curve : chart_.curves)
      for (const CurvePoint& p : curve.points) sizes.insert(p.x);
    for (const double size : sizes) axis.ticks.emplace_back(size, report::whole(size));
    return axis;
  }
  [[nodiscard]] AxisData y_axis() const {
    AxisData axis{.title = "", .is_logarithmic = is_logarithmic_, .low = y_low_, .high = y_high_, .ticks = {}};
    for (const double tick : y_ticks()) axis.ticks.emplace_back(tick, chart_.y_label(tick));
    return axis;
  }

 private:
  [[nodiscard]] std::vector<double> y_ticks() const {
    if (!is_logarithmic_) return round_ticks(y_low_, y_high_, 4);
    std::vector<double> ticks;
    const bool few = y_high_ / y_low_ < 300;
    const int last = static_cast<int>(std::floor(std::log10(y_high_)));
    for (int power = static_cast<int>(std::floor(std::log10(y_low_))); power <= last; ++power)
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10, power);
        if ((few || digit == 1) && tick >= y_low_ && tick <= y_high_) ticks.push_back(tick);
      }
    return ticks;
  }

  const LineChart& chart_;
  double x_low_ = 1, x_high_ = 2, y_low_ = 0, y_high_ = 1;
  bool is_logarithmic_ = false;
};

void axes(Svg& svg, const LineChart& chart, const Scale& scale) {
  const double bottom = chart.height - kChartBottom;
  svg.text("title", 0, 16, "start", chart.title);
  for (const auto& [tick, label] : scale.y_axis().ticks) {
    svg.line("grid", kChartLeft, scale.y(tick), chart.width - kChartRight, scale.y(tick));
    svg.text("num dim", kChartLeft - 8, scale.y(tick) + 4, "end", label);
  }
  double last = -1e9;
  for (const auto& [size, label] : scale.x_axis().ticks) {
    svg.line("axis", scale.x(size), bottom, scale.x(size), bottom + 4);
    if (scale.x(size) - last < 46) continue;
    svg.text("num dim", scale.x(size), bottom + 18, "middle", label);
    last = scale.x(size);
  }
  svg.line("axis", kChartLeft, bottom, chart.width - kChartRight, bottom);
  svg.text("dim", (kChartLeft + chart.width - kChartRight) / 2, chart.height - 8, "middle", chart.x_title);
}

std::string route(const std::vector<std::pair<double, double>>& points) {
  std::string commands;
  for (const auto& [x, y] : points) commands += fmt::format("{}{:.1f} {:.1f}", commands.empty() ? "M" : "L", x, y);
  return commands;
}

void band(Svg& svg, const Curve& curve, const Scale& scale) {
  std::vector<std::pair<double, double>> outline;
  for (const CurvePoint& p : curve.points)
    if (p.interval) outline.emplace_back(scale.x(p.x), scale.y(p.interval->second));
  for (auto p = curve.points.rbegin(); p != curve.points.rend(); ++p)
    if (p->interval) outline.emplace_back(scale.x(p->x), scale.y(p->interval->first));
  if (outline.size() > 2) svg.path(fmt::format("band {}", curve.style), route(outline) + "Z");
}

void curve(Svg& svg, const Curve& curve, const Scale& scale) {
  std::vector<std::pair<double, double>> points;
  for (const CurvePoint& p : curve.points) points.emplace_back(scale.x(p.x), scale.y(p.y));
  svg.path(fmt::format("line {}", curve.style), route(points));
  if (curve.style == "ideal") return;
  for (const CurvePoint& p : curve.points)
    svg.circle(fmt::format("point {}{}", curve.style, p.is_marked ? " marked" : ""), scale.x(p.x), scale.y(p.y),
               p.is_marked ? 6 : 4, escaped(p.hint));
}

}  // namespace

LineAxes axes_of(const LineChart& chart) {
  const Scale scale(chart);
  return {scale.x_axis(), scale.y_axis()};
}

std::string line_svg(const LineChart& chart) {
  const Scale scale(chart);
  Svg svg(chart.width, chart.height, chart.title);
  axes(svg, chart, scale);
  for (const Curve& each : chart.curves) band(svg, each, scale);
  for (const Curve& each : chart.curves) curve(svg, each, scale);
  return svg.take();
}

}  // namespace foretoken::draw

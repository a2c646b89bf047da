// Draws curves over a logarithmic axis of sizes, with bands where an interval is known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/draw/axis.h"

namespace foretoken::draw {

struct CurvePoint {
  double x = 0, y = 0;
  std::optional<std::pair<double, double>> interval{};  ///< of y
  std::string hint{};                                   ///< shown at the point
  bool is_marked = false;                               ///< the scenario itself
};

struct Curve {
  std::string_view style;  ///< "s1", "s2", "ideal" (a dashed line without points)
  std::vector<CurvePoint> points;
  std::string name{};  ///< where several curves share a chart
};

struct LineChart {
  std::string title, x_title;
  std::vector<Curve> curves;
  bool logarithmic_y = false;
  /// Returns the label of a value on the y axis.
  std::string (*y_label)(double) = nullptr;
  double width = 480, height = 280;
};

/// The axes of a chart: all sizes below, round values at the side.
struct LineAxes {
  AxisData x, y;
};
[[nodiscard]] LineAxes axes_of(const LineChart& chart);

/// Draws the chart as an element of a page. Precondition: at least one point; x > 0, and y > 0 where logarithmic.
[[nodiscard]] std::string line_svg(const LineChart& chart);

}  // namespace foretoken::draw

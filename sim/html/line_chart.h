// Curves over a logarithmic axis of sizes, as figures that can be read by pointing at them.
#pragma once

#include <string>

#include "sim/draw/line_svg.h"

namespace foretoken::html {

using draw::Curve;
using draw::CurvePoint;
using draw::LineChart;

/// The chart as a figure (live_chart.h). Precondition: at least one point; x > 0, and y > 0 where logarithmic.
[[nodiscard]] std::string line_chart(const LineChart& chart);

}  // namespace foretoken::html

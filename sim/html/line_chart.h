// Makes figures of curves over a logarithmic axis of sizes. Pointing at a curve shows its values.
#pragma once

#include <string>

#include "sim/draw/line_svg.h"

namespace foretoken::html {

using draw::Curve;
using draw::CurvePoint;
using draw::LineChart;

/// Returns the chart as a figure (live_chart.h). Precondition: at least one point; x > 0, and y > 0 where logarithmic.
[[nodiscard]] std::string line_chart(const LineChart& chart);

}  // namespace foretoken::html

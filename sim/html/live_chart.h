// Figures that can be read by pointing at them, drawn by Chart.js in the page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/draw/axis.h"

namespace foretoken::html {

/// A figure: `drawing` (SVG) on paper and without JavaScript, else a chart of `data` as charts.js reads it:
///
///     {"title": text, "aspect": width / height,
///      "x" and "y": {"title": text, "logarithmic": bool, "low": number, "high": number, "ticks": [[number, label]]},
///      "series": [{"name": text, "style": class in the drawing that gives the colour,
///                  "x": [number], "y": [number], optional "low" and "high": [number] of a band, "hints": [text],
///                  "marked": index of a ringed point, "dashed": bool, "points": bool,
///                  "stacked": bool (an area on top of the series before it, in steps)}]}
[[nodiscard]] std::string live_chart(const nlohmann::ordered_json& data, std::string_view drawing);

using draw::AxisData;
[[nodiscard]] nlohmann::ordered_json json_of(const AxisData& axis);

/// Five significant digits, more than a drawing shows: keeps the page small.
[[nodiscard]] double rounded(double value);

}  // namespace foretoken::html

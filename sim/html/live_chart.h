// Makes figures that show their values to a pointer. Chart.js draws them in the page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "sim/draw/axis.h"

namespace foretoken::html {

/// Returns a figure: `drawing` (SVG) on paper and without JavaScript, else a chart of `data`. charts.js reads `data`:
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

/// Rounds to five significant digits, more than a drawing shows, to keep the page small.
[[nodiscard]] double rounded(double value);

}  // namespace foretoken::html

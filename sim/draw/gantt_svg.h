// A pipeline over time as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/gantt.h"

namespace foretoken::draw {

/// The most rectangles of a drawing. Where there are more passes, stretches of time are drawn as one, and their heights
/// show the shares of what happened in them.
inline constexpr std::size_t kMostRectangles = 5000;

/// The class that gives bars of an activity their colour.
[[nodiscard]] std::string_view css_class(report::Activity activity);

/// A drawing of all `charts`, one below the other on one time axis.
[[nodiscard]] std::string gantt_svg(const std::vector<report::Gantt>& charts);

/// The same as an element of a page that has the classes and the pattern "h" of gantt_svg's style itself, and explains
/// them.
[[nodiscard]] std::string gantt_svg_for_page(const std::vector<report::Gantt>& charts);

}  // namespace foretoken::draw

// Draws a pipeline over time as SVG.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/report/gantt.h"

namespace foretoken::draw {

/// The most rectangles of a drawing. With more passes, a stretch of time is drawn as one, and heights show the share of
/// each activity in it.
inline constexpr std::size_t kMostRectangles = 5000;

/// Draws all `charts`, one below the other on one time axis.
[[nodiscard]] std::string gantt_svg(const std::vector<report::Gantt>& charts);

/// Draws the same as elements of a page, with titles as headings. The page defines and explains the classes and the
/// pattern "h" of gantt_svg; a phone leaves out the class "wide".
[[nodiscard]] std::string gantt_svg_for_page(const std::vector<report::Gantt>& charts);

}  // namespace foretoken::draw

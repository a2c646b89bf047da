// Draws points in a plane with characters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/report/text/layout.h"

namespace foretoken::report {

struct ScatterPoint {
  double x = 0, y = 0;
  char mark = '*';  ///< later points cover earlier ones
};

struct ScatterAxis {
  std::string_view title;
  std::string (*text)(double) = nullptr;  ///< words for a value at an end of the axis
};

/// Returns a plot of about 70 x 12 characters with labelled ends, or nothing without points.
[[nodiscard]] std::string scatter_text(const std::vector<ScatterPoint>& points, const ScatterAxis& x,
                                       const ScatterAxis& y, const Paint& paint);

}  // namespace foretoken::report

// Draws scatter plots as SVG files.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace foretoken::draw {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  std::vector<std::string> labels{};  ///< shown over a point; empty, or one for each
  bool behind = false;                ///< other series are drawn over it
};

struct ScatterAxis {
  std::string title;
  double low = 0, high = 1;
  bool logarithmic = true;  ///< ticks at powers of ten; otherwise every `tick`
  double tick = 1;
};

using Point = std::pair<double, double>;
using Guide = std::pair<Point, Point>;  ///< a line

/// Draws each series with its own colour and mark. Points outside the axes are drawn at the border. The same input
/// gives the same text.
[[nodiscard]] std::string scatter_svg(const std::string& title, const ScatterAxis& x, const ScatterAxis& y,
                                      const std::vector<Series>& series, const std::vector<Guide>& guides);

}  // namespace foretoken::draw

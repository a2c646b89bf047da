// Axes, guides, marks and a legend written as SVG text.
#include "validate/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/base/check.h"

namespace foretoken::validate {
namespace {

constexpr double kLeft = 70, kTop = 40, kSide = 520, kLegend = 190;
// Okabe and Ito's palette, readable by the colour-blind.
constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#000000", "#999933"};

// From a value to pixels.
class Scale {
 public:
  Scale(const Axis& axis, double from, double to) : axis_(axis), from_(from), to_(to) {}
  [[nodiscard]] double operator()(double value) const {
    const double share = (at(value) - at(axis_.low)) / (at(axis_.high) - at(axis_.low));
    return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
  }

 private:
  [[nodiscard]] double at(double value) const { return axis_.logarithmic ? std::log10(value) : value; }
  const Axis& axis_;
  double from_, to_;
};

std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  if (!axis.logarithmic) {
    const auto count = static_cast<int>(std::floor((axis.high - axis.low) / axis.tick + 0.5));
    for (int t = 0; t <= count; ++t) ticks.push_back(axis.low + t * axis.tick);
    return ticks;
  }
  const int low = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
  const int high = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
  for (int power = low; power <= high; ++power) ticks.push_back(std::pow(10.0, power));
  return ticks;
}

std::string axes_svg(const Axis& x, const Axis& y, const Scale& to_x, const Scale& to_y) {
  std::string svg = fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
                                kLeft, kTop, kSide, kSide);
  for (const double tick : ticks_of(x))
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
        to_x(tick), kTop, kTop + kSide, kTop + kSide + 18, tick);
  for (const double tick : ticks_of(y))
    svg += fmt::format(
        "<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
        to_y(tick), kLeft, kLeft + kSide, kLeft - 6, to_y(tick) + 4, tick);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kLeft + kSide / 2, kTop + kSide + 38,
                     x.title);
  svg += fmt::format("<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                     kTop + kSide / 2, y.title);
  return svg;
}

// Circles for the first round of colours, squares for the second, triangles for the third.
std::string mark_svg(std::size_t series, double x, double y, const std::string& label = {}) {
  static constexpr std::array<std::string_view, 3> kShapes{"circle", "rect", "path"};
  const std::string_view shape = kShapes.at(series / kColours.size());
  const std::string place = shape == "circle" ? fmt::format("cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"", x, y)
                            : shape == "rect"
                                ? fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\"", x - 3, y - 3)
                                : fmt::format("d=\"M{:.1f} {:.1f}l4 7h-8z\"", x, y - 4);
  const std::string start =
      fmt::format("<{} {} fill=\"{}\" fill-opacity=\"0.7\"", shape, place, kColours.at(series % kColours.size()));
  if (label.empty()) return start + "/>\n";
  return fmt::format("{}><title>{}</title></{}>\n", start, label, shape);
}

}  // namespace

std::string scatter_svg(const std::string& title, const Axis& x, const Axis& y, const std::vector<Series>& series,
                        const std::vector<Guide>& guides) {
  expects(series.size() <= 3 * kColours.size(), "a plot has at most 24 series");
  const Scale to_x(x, kLeft, kLeft + kSide), to_y(y, kTop + kSide, kTop);
  const double width = kLeft + kSide + kLegend, height = kTop + kSide + 50;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
      width, height, kLeft, title);
  svg += axes_svg(x, y, to_x, to_y);
  for (const auto& [from, to] : guides)
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#888\"/>\n",
                       to_x(from.first), to_y(from.second), to_x(to.first), to_y(to.second));
  for (std::size_t s = 0; s < series.size(); ++s) {
    for (std::size_t p = 0; p < series[s].points.size(); ++p) {
      const auto& [px, py] = series[s].points[p];
      svg += mark_svg(s, to_x(px), to_y(py), series[s].labels.empty() ? "" : series[s].labels[p]);
    }
    const double row = kTop + 14 + 20 * static_cast<double>(s);
    svg += mark_svg(s, kLeft + kSide + 18, row);
    svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kLeft + kSide + 30, row + 4, series[s].name);
  }
  return svg + "</svg>\n";
}

}  // namespace foretoken::validate

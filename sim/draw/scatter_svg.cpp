// Draws a scatter plot: axes, guides, marks and a legend.
#include "sim/draw/scatter_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/base/check.h"
#include "sim/draw/svg.h"

namespace foretoken::draw {
namespace {

constexpr double kSquareLeft = 70, kSquareTop = 40, kSide = 520, kLeastNames = 190, kBeforeName = 30;
constexpr double kSquareRight = kSquareLeft + kSide, kSquareBottom = kSquareTop + kSide;

// Converts a value to pixels.
class ToPixels {
 public:
  ToPixels(const ScatterAxis& axis, double from, double to) : axis_(axis), from_(from), to_(to) {}

  [[nodiscard]] double operator()(double value) const {
    const double share = (at(value) - at(axis_.low)) / (at(axis_.high) - at(axis_.low));
    return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
  }

 private:
  [[nodiscard]] double at(double value) const { return axis_.logarithmic ? std::log10(value) : value; }

  const ScatterAxis& axis_;
  double from_, to_;
};

std::vector<double> ticks_of(const ScatterAxis& axis) {
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

std::string x_axis(const ScatterAxis& axis, const ToPixels& to_x) {
  std::string svg;
  for (const double tick : ticks_of(axis)) {
    const double x = to_x(tick);
    svg += element("line", {{"x1", x, 1}, {"y1", kSquareTop}, {"x2", x, 1}, {"y2", kSquareBottom}, {"stroke", "#ddd"}});
    svg += text({{"x", x, 1}, {"y", kSquareBottom + 18}, {"text-anchor", "middle"}}, fmt::format("{:g}", tick)) + "\n";
  }
  return svg;
}

std::string y_axis(const ScatterAxis& axis, const ToPixels& to_y) {
  std::string svg;
  for (const double tick : ticks_of(axis)) {
    const double y = to_y(tick);
    svg += element("line", {{"x1", kSquareLeft}, {"y1", y, 1}, {"x2", kSquareRight}, {"y2", y, 1}, {"stroke", "#ddd"}});
    svg += text({{"x", kSquareLeft - 6}, {"y", y + 4, 1}, {"text-anchor", "end"}}, fmt::format("{:g}", tick)) + "\n";
  }
  return svg;
}

std::string titles(const std::string& x, const std::string& y) {
  const std::string upwards = fmt::format("translate(18 {}) rotate(-90)", kSquareTop + kSide / 2);
  return text({{"x", kSquareLeft + kSide / 2}, {"y", kSquareBottom + 38}, {"text-anchor", "middle"}}, x) + "\n" +
         text({{"transform", upwards}, {"text-anchor", "middle"}}, y) + "\n";
}

// Draws circles for the first round of colours, squares for the second, triangles for the third, diamonds for the last.
std::string mark(std::size_t series, double x, double y, std::string_view hint = {}) {
  const Attribute fill("fill", kPalette.at(series % kPalette.size())), opacity("fill-opacity", "0.7");
  switch (series / kPalette.size()) {
    case 0:
      return with_hint("circle", {{"cx", x, 1}, {"cy", y, 1}, {"r", "3"}, fill, opacity}, hint) + "\n";
    case 1:
      return with_hint("rect", {{"x", x - 3, 1}, {"y", y - 3, 1}, {"width", "6"}, {"height", "6"}, fill, opacity},
                       hint) +
             "\n";
    case 2:
      return with_hint("path", {{"d", fmt::format("M{:.1f} {:.1f}l4 7h-8z", x, y - 4)}, fill, opacity}, hint) + "\n";
    default:
      return with_hint("path", {{"d", fmt::format("M{:.1f} {:.1f}l4 4l-4 4l-4 -4z", x, y - 4)}, fill, opacity}, hint) +
             "\n";
  }
}

// Returns the room beside the square that the longest name of a series needs, behind its mark.
double room_for_names(const std::vector<Series>& series) {
  double room = kLeastNames;
  for (const Series& one : series) room = std::max(room, kBeforeName + kLetter * static_cast<double>(one.name.size()));
  return room;
}

std::string points_of(const Series& one, std::size_t place, const ToPixels& to_x, const ToPixels& to_y) {
  std::string svg;
  for (std::size_t p = 0; p < one.points.size(); ++p)
    svg += mark(place, to_x(one.points[p].first), to_y(one.points[p].second), one.labels.empty() ? "" : one.labels[p]);
  return svg;
}

std::string start(const std::string& title, double names) {
  const double width = kSquareRight + names, height = kSquareBottom + 50;
  return opened("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                        {"width", width},
                        {"height", height},
                        {"viewBox", fmt::format("0 0 {} {}", width, height)},
                        {"font-family", "sans-serif"},
                        {"font-size", "12"}}) +
         "\n" + element("rect", {{"width", width}, {"height", height}, {"fill", "white"}}) + "\n" +
         text({{"x", kSquareLeft}, {"y", "24"}, {"font-size", "15"}}, title) + "\n" +
         element("rect", {{"x", kSquareLeft},
                          {"y", kSquareTop},
                          {"width", kSide},
                          {"height", kSide},
                          {"fill", "none"},
                          {"stroke", "#444"}}) +
         "\n";
}

}  // namespace

std::string scatter_svg(const std::string& title, const ScatterAxis& x, const ScatterAxis& y,
                        const std::vector<Series>& series, const std::vector<Guide>& guides) {
  constexpr std::size_t kMostSeries = 35;  // their names fit beside the square
  constexpr double kRow = 16;
  expects(series.size() <= kMostSeries, "a plot has at most 35 series");
  const ToPixels to_x(x, kSquareLeft, kSquareRight), to_y(y, kSquareBottom, kSquareTop);
  std::string svg = start(title, room_for_names(series)) + x_axis(x, to_x) + y_axis(y, to_y) + titles(x.title, y.title);

  for (const auto& [from, to] : guides)
    svg += element("line", {{"x1", to_x(from.first), 1},
                            {"y1", to_y(from.second), 1},
                            {"x2", to_x(to.first), 1},
                            {"y2", to_y(to.second), 1},
                            {"stroke", "#888"}}) +
           "\n";

  for (std::size_t s = 0; s < series.size(); ++s)
    if (series[s].behind) svg += points_of(series[s], s, to_x, to_y);
  for (std::size_t s = 0; s < series.size(); ++s) {
    if (!series[s].behind) svg += points_of(series[s], s, to_x, to_y);
    const double row = kSquareTop + 14 + kRow * static_cast<double>(s);
    svg += mark(s, kSquareRight + 18, row) + text({{"x", kSquareRight + kBeforeName}, {"y", row + 4}}, series[s].name) +
           "\n";
  }
  return svg + "</svg>\n";
}

}  // namespace foretoken::draw

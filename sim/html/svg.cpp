// Drawings for the page.
#include "sim/html/svg.h"

#include <cmath>

#include "sim/html/markup.h"

namespace foretoken::html {

Svg::Svg(double width, double height, std::string_view description) {
  put("<svg class=\"chart\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width, height,
      escaped(description));
}

void Svg::rect(std::string_view style, double x, double y, double width, double height, std::string_view hint) {
  put("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\"", style, x, y, width, height);
  if (hint.empty())
    put("/>\n");
  else
    put("><title>{}</title></rect>\n", hint);
}

void Svg::line(std::string_view style, double x1, double y1, double x2, double y2) {
  put("<line class=\"{}\" x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\"/>\n", style, x1, y1, x2, y2);
}

void Svg::text(std::string_view style, double x, double y, std::string_view anchor, std::string_view text) {
  put("<text class=\"{}\" x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", style, x, y, anchor,
      escaped(text));
}

void Svg::circle(std::string_view style, double x, double y, double radius, std::string_view hint) {
  put("<circle class=\"{}\" cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.1f}\"><title>{}</title></circle>\n", style, x, y, radius,
      hint);
}

void Svg::path(std::string_view style, std::string_view commands) {
  put("<path class=\"{}\" d=\"{}\"/>\n", style, commands);
}

std::string tick_time(double seconds) {
  if (seconds == 0) return "0";
  const double scale = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
  return fmt::format("{:.4g} {}", seconds * scale, scale == 1 ? "s" : scale == 1e3 ? "ms" : "us");
}

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low)) return {low};
  const double raw = (high - low) / count, magnitude = std::pow(10, std::floor(std::log10(raw)));
  const double ratio = raw / magnitude;
  const double step = (ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1) * magnitude;
  for (double k = std::ceil(low / step - 1e-9) + 0.0; k * step <= high + 1e-9 * step; ++k) ticks.push_back(k * step);
  return ticks;
}

}  // namespace foretoken::html

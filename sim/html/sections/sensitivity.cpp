// Shows the tornado: the effect of each hardware property on the step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/draw/svg.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {
namespace {

using draw::Svg;

// Draws the bars, each beside its property on a page and below it on a phone.
std::string tornado(const ReportData& data, bool is_narrow) {
  constexpr double kSide = 70, kBar = 18;
  const double width = is_narrow ? kNarrow : 1000, label = is_narrow ? 0 : 220, name_height = is_narrow ? 18 : 0;
  const double row = 28 + name_height, middle = (label + width) / 2, half = (width - label - 2 * kSide) / 2;
  const double base = data.base.metrics.step_time.value();
  double widest = 1e-6;
  for (const study::Sensitivity& each : data.sensitivity)
    widest = std::max({widest, std::abs(each.smaller.value() / base - 1), std::abs(each.larger.value() / base - 1)});
  Svg svg(width, row * static_cast<double>(data.sensitivity.size()) + 34,
          "Step time with one hardware property changed");
  double y = 4 + name_height;
  const auto bar = [&](const study::Sensitivity& each, Seconds time, std::string_view style, std::string_view words) {
    const double change = time.value() / base - 1, length = std::abs(change) / widest * half;
    const std::string text = fmt::format("{:+.2f} %", 100 * change);
    svg.rect(style, change < 0 ? middle - length : middle, y, length, kBar,
             fmt::format("{} {:g} % {}: {} of step time", each.name, 100 * data.sensitivity_part, words, text));
    if (std::abs(change) < 5e-5) return;
    svg.text("num", change < 0 ? middle - length - 6 : middle + length + 6, y + kBar - 4.5,
             change < 0 ? "end" : "start", text);
  };
  for (const study::Sensitivity& each : data.sensitivity) {
    svg.text("", is_narrow ? 0 : label - 12, y - name_height + kBar - 4.5, is_narrow ? "start" : "end", each.name);
    if (each.swing().value() / base < 1e-4) svg.text("dim", middle + 8, y + kBar - 4.5, "start", "no effect");
    bar(each, each.smaller, "c-first", "smaller");
    bar(each, each.larger, "c-second", "larger");
    svg.line("axis", middle, y - 4, middle, y + kBar + 6);
    y += row;
  }
  svg.text("dim", middle - 8, y - name_height + 16, "end", "faster step");
  svg.text("dim", middle + 8, y - name_height + 16, "start", "slower step");
  return svg.take();
}

}  // namespace

std::string sensitivity(const ReportData& data) {
  if (data.sensitivity.empty()) return "";
  const std::string part = fmt::format("{:g} %", 100 * data.sensitivity_part);
  return paragraph(fmt::format(
             "Step time when one property of the hardware is {} smaller or larger and all others stay the same.",
             part)) +
         legend({{{"c-first"}, part + " smaller"}, {{"c-second"}, part + " larger"}}) +
         for_both_widths([&](bool is_narrow) { return tornado(data, is_narrow); });
}

}  // namespace foretoken::html

// Shows the tornado: the effect of each hardware property on the step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/draw/svg.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {

std::string sensitivity(const ReportData& data) {
  if (data.sensitivity.empty()) return "";
  constexpr double kWidth = 1000, kLabel = 220, kSide = 70, kRow = 28, kBar = 18;
  constexpr double kMiddle = (kLabel + kSide + kWidth - kSide) / 2, kHalf = (kWidth - kLabel - 2 * kSide) / 2;
  const double base = data.base.metrics.step_time.value();
  double widest = 1e-6;
  for (const study::Sensitivity& each : data.sensitivity)
    widest = std::max({widest, std::abs(each.smaller.value() / base - 1), std::abs(each.larger.value() / base - 1)});
  Svg svg(kWidth, kRow * static_cast<double>(data.sensitivity.size()) + 34,
          "Step time with one hardware property changed");
  double y = 4;
  const auto bar = [&](const study::Sensitivity& each, Seconds time, std::string_view style, std::string_view words) {
    const double change = time.value() / base - 1, width = std::abs(change) / widest * kHalf;
    const std::string text = fmt::format("{:+.2f} %", 100 * change);
    svg.rect(style, change < 0 ? kMiddle - width : kMiddle, y, width, kBar,
             fmt::format("{} {:g} % {}: {} of step time", each.name, 100 * data.sensitivity_part, words, text));
    if (std::abs(change) < 5e-5) return;
    svg.text("num", change < 0 ? kMiddle - width - 6 : kMiddle + width + 6, y + kBar - 4.5,
             change < 0 ? "end" : "start", text);
  };
  for (const study::Sensitivity& each : data.sensitivity) {
    svg.text("", kLabel - 12, y + kBar - 4.5, "end", each.name);
    if (each.swing().value() / base < 1e-4) svg.text("dim", kMiddle + 8, y + kBar - 4.5, "start", "no effect");
    bar(each, each.smaller, "c-first", "smaller");
    bar(each, each.larger, "c-second", "larger");
    y += kRow;
  }
  svg.line("axis", kMiddle, 0, kMiddle, y);
  svg.text("dim", kMiddle - 8, y + 16, "end", "faster step");
  svg.text("dim", kMiddle + 8, y + 16, "start", "slower step");
  const std::string part = fmt::format("{:g} %", 100 * data.sensitivity_part);
  return paragraph(fmt::format(
             "Step time when one property of the hardware is {} smaller or larger and all others stay the same.",
             part)) +
         legend({{{"c-first"}, part + " smaller"}, {{"c-second"}, part + " larger"}}) + svg.take();
}

}  // namespace foretoken::html

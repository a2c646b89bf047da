// Shows the way from the ideal step to the predicted one: the time that each shortcoming of a real run adds.
#include "sim/report/waterfall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "sim/draw/svg.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/report/text/time_parts.h"

namespace foretoken::html {
namespace {

using draw::Svg;

struct Bar {
  std::string name, style;
  Seconds time;
};

std::string style_of(std::string_view key) {
  for (const report::TimePart& part : report::time_parts())
    if (part.key == key) return fmt::format("c-{}", part.name);
  if (key == "recompute") return "c-recompute";
  return key == "stragglers" || key == "bias" ? "c-other" : "c-beyond";
}

std::vector<Bar> parts_of(const report::Waterfall& fall, const report::Metrics& m) {
  std::vector<Bar> parts{{fmt::format("the model's operations at {} TFLOP/s", report::plain(m.mfu_peak_tflops)),
                          "c-compute", des::to_seconds(fall.ideal)}};
  for (const report::WaterfallStep& each : fall.steps) {
    if (each.time != des::Duration{}) parts.push_back({each.words, style_of(each.key), des::to_seconds(each.time)});
  }
  return parts;
}

// Returns the right end of the widest part. Before a part that saves time, the sum is longer than the step.
double reach(const std::vector<Bar>& parts) {
  double sum = 0, most = 0;
  for (const Bar& part : parts) most = std::max(most, sum += part.time.value());
  return most;
}

std::string signed_time(Seconds time, bool is_first) {
  if (time < Seconds(0)) return fmt::format("-{}", report::time_text(-1 * time));
  return fmt::format("{}{}", is_first ? "" : "+", report::time_text(time));
}

// Draws the parts as bars, each beside its name on a page and below it on a phone.
std::string drawing(const std::vector<Bar>& parts, const report::Metrics& m, bool is_narrow) {
  constexpr double kBar = 17, kNumbers = 150, kShare = 66;
  const double width = is_narrow ? kNarrow : 1000, label = is_narrow ? 0 : 330, name_height = is_narrow ? 17 : 0;
  const double row = 28 + name_height, scale = (width - label - kNumbers) / reach(parts);
  Svg svg(width, row * static_cast<double>(parts.size()) + 34, "From the ideal step to the predicted one");
  const auto name = [&](std::string_view style, double y, std::string_view words) {
    svg.text(style, is_narrow ? 0 : label - 12, y, is_narrow ? "start" : "end", words);
  };
  double y = 4, before = 0;
  for (const Bar& part : parts) {
    const double after = before + part.time.value(), share = part.time / m.step_time, top = y + name_height;
    const std::string time = signed_time(part.time, &part == &parts.front());
    name("", y + kBar - 4, part.name);
    svg.rect(part.style, label + std::min(before, after) * scale, top, std::max(std::abs(after - before) * scale, 0.8),
             kBar, escaped(fmt::format("{}: {}, {}", part.name, time, report::percent(share))));
    svg.line("guide", label + after * scale, top + kBar, label + after * scale, y + row);
    svg.text("num", width - kShare, top + kBar - 4, "end", time);
    svg.text("num dim", width, top + kBar - 4, "end", report::percent(share));
    before = after;
    y += row;
  }
  svg.line("axis", label, y - 4, width, y - 4);
  name("strong", y + kBar - 1, "step");
  svg.text("num strong", width - kShare, y + kBar - 1, "end", report::time_text(m.step_time));
  return svg.take();
}

std::string delays_of(const report::Metrics& m) {
  if (!m.delays || m.delays->empty()) return "";
  std::string html = paragraph("Slow hardware that the step waits for: repaired, and the step simulated again.");
  for (const report::Delay& delay : *m.delays) html += paragraph(report::delay_words(delay, m.step_time));
  return html;
}

}  // namespace

std::string waterfall(const ReportData& data) {
  const report::Metrics& m = data.base.metrics;
  const report::Waterfall& fall = data.waterfall;
  const std::vector<Bar> parts = parts_of(fall, m);
  return paragraph(fmt::format("From the model's operations at the GPU's dense peak, the step at 100 % MFU, to the "
                               "predicted step: the timeline of one GPU of stage {}, the busiest, and what nothing "
                               "hides. One layer alone takes {} forward and {} backward.",
                               fall.stage.number(), report::time_text(m.layer_forward),
                               report::time_text(m.layer_backward))) +
         for_both_widths([&](bool is_narrow) { return drawing(parts, m, is_narrow); }) + delays_of(m);
}

}  // namespace foretoken::html

// Where the time of a step goes, part after part.
#include <fmt/format.h>

#include <vector>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/html/svg.h"
#include "sim/report/number.h"

namespace foretoken::html {
namespace {

struct Part {
  std::string_view name, style;
  Seconds time;
};

std::vector<Part> parts_of(const report::TimeSplit& t) {
  const Part all[] = {{"compute", "c-compute", t.compute},
                      {"tensor-parallel communication", "c-tensor", t.tensor_parallel_comm},
                      {"context-parallel communication", "c-context", t.context_parallel_comm},
                      {"pipeline communication", "c-pipeline", t.pipeline_comm},
                      {"data-parallel communication", "c-data", t.data_parallel_comm},
                      {"optimizer", "c-step", t.optimizer},
                      {"bubble: waits for a stage", "c-bubble", t.bubble},
                      {"host", "c-host", t.host},
                      {"other", "c-other", t.other}};
  std::vector<Part> parts;
  for (const Part& part : all)
    if (part.time > Seconds(0)) parts.push_back(part);
  return parts;
}

}  // namespace

std::string waterfall(const ReportData& data) {
  constexpr double kWidth = 1000, kLabel = 250, kRow = 30, kBar = 18, kNumbers = 130;
  const Seconds step = data.base.metrics.step_time;
  const std::vector<Part> parts = parts_of(data.base.metrics.time);
  const double scale = (kWidth - kLabel - kNumbers) / step.value();
  Svg svg(kWidth, kRow * static_cast<double>(parts.size() + 1) + 6, "Step time, part by part");
  double y = 4;
  Seconds before;
  for (const Part& part : parts) {
    const double x = kLabel + before.value() * scale, width = part.time.value() * scale;
    svg.text("", kLabel - 12, y + kBar - 4.5, "end", part.name);
    svg.rect(part.style, x, y, std::max(width, 0.8), kBar,
             fmt::format("{}: {}, {}", part.name, report::time_text(part.time), report::percent(part.time / step)));
    before += part.time;
    svg.line("guide", x + width, y + kBar, x + width, y + kRow);
    svg.text("num", kWidth - 62, y + kBar - 4.5, "end", report::time_text(part.time));
    svg.text("num dim", kWidth, y + kBar - 4.5, "end", report::percent(part.time / step));
    y += kRow;
  }
  svg.line("axis", kLabel, y - 5, kWidth, y - 5);
  svg.text("strong", kLabel - 12, y + kBar - 2, "end", "step");
  svg.text("num strong", kWidth - 62, y + kBar - 2, "end", report::time_text(step));
  return paragraph(fmt::format("The timeline of one GPU of stage {}, the busiest. Every instant counts once: compute "
                               "before communication before waiting. One layer alone takes {} forward and {} backward.",
                               data.base.observations.busiest_stage, report::time_text(data.base.metrics.layer_forward),
                               report::time_text(data.base.metrics.layer_backward))) +
         svg.take();
}

}  // namespace foretoken::html

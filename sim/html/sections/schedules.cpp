// Shows pipeline schedules side by side.
#include <fmt/format.h>

#include <algorithm>

#include "sim/draw/gantt_svg.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/gantt.h"
#include "sim/report/text/number.h"

namespace foretoken::html {

namespace {

void add_row(Table& table, const study::Variant& variant, Seconds base) {
  const report::Metrics& m = *variant.metrics;
  const double change = m.step_time / base - 1;
  table.add({Table::text(variant.label), Table::number(m.step_time.value(), report::time_text(m.step_time)),
             Table::number(change, variant.is_base ? "this one" : fmt::format("{:+.1f} %", 100 * change)),
             Table::number(m.tokens_per_s, report::significant(m.tokens_per_s)),
             Table::number(m.bubble_fraction, report::percent(m.bubble_fraction)),
             Table::number(m.ideal_bubble_fraction, report::percent(m.ideal_bubble_fraction)),
             Table::number(m.memory.needed().value(), report::gib(m.memory.needed())),
             Table::text(m.memory.fits ? "yes" : "no")},
            variant.is_base);
}

}  // namespace

std::string schedules(const ReportData& data) {
  if (data.schedules.empty()) return "";
  Table table({{"schedule", false},
               {"step"},
               {"to this scenario"},
               {"tokens/s"},
               {"bubble"},
               {"ideal"},
               {"GiB"},
               {"fits", false}});
  std::vector<report::Gantt> charts;
  for (const study::Variant& each : data.schedules) {
    if (!each.metrics) {
      table.add({Table::text(each.label), Table::text(each.why_not)});
      continue;
    }
    add_row(table, each, data.base.metrics.step_time);
    charts.push_back(each.chart);
  }
  return paragraph(
             "The same job with other schedules and no other change. Bubble: idle time of the pipeline over the "
             "work of its busiest stage; ideal: with equal stages and free messages, (p - 1) / (v m) for 1F1B. GiB: "
             "memory "
             "that the fullest GPU needs.") +
         table.html() + pipeline_legend(charts) + paragraph(draw::density_words() + ".", "remark") +
         "<figure class=\"wide\">" + draw::gantt_svg_for_page(charts) + "</figure>\n";
}

}  // namespace foretoken::html

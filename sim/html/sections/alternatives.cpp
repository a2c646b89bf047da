// Shows other configurations of the same job.
#include <fmt/format.h>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {

namespace {

std::string table_of(const std::vector<study::Variant>& variants, Seconds base) {
  Table table({{"configuration", false},
               {"step s"},
               {"to this scenario"},
               {"tokens/s"},
               {"MFU"},
               {"bubble"},
               {"GiB"},
               {"fits", false}});
  for (const study::Variant& each : variants) {
    const report::Metrics& m = *each.metrics;
    const double change = m.step_time / base - 1;
    table.add({Table::text(each.label), Table::number(m.step_time.value(), report::significant(m.step_time.value())),
               Table::number(change, each.is_base ? "this one" : fmt::format("{:+.1f} %", 100 * change)),
               Table::number(m.tokens_per_s, report::significant(m.tokens_per_s)),
               Table::number(m.mfu, report::percent(m.mfu)),
               Table::number(m.bubble_fraction, report::percent(m.bubble_fraction)),
               Table::number(m.memory.needed().value(), report::gib(m.memory.needed())),
               Table::text(m.memory.fits ? "yes" : "no")},
              each.is_base);
  }
  return table.html(true);
}

std::string why_nothing_found(const job::Job& job) {
  if (job.imperfections.any() || job.stragglers.on || !job.groups.empty())
    return "The fastest configurations of all are not listed: a search needs equal hardware, but this scenario has "
           "slow or failed GPUs, NICs or links.";
  return "No configuration of these GPUs, this batch and this software fits in memory.";
}

}  // namespace

std::string alternatives(const ReportData& data) {
  const Seconds base = data.base.metrics.step_time;
  std::string html;
  if (!data.found.empty())
    html += paragraph(
                "The fastest configurations that fit, of all that the same GPUs, batch and software allow. GiB: "
                "memory that the fullest GPU needs.") +
            "<p class=\"remark needs-script\">Click a column's head to sort by it.</p>\n" + table_of(data.found, base);
  else
    html += paragraph(why_nothing_found(data.base.job));
  if (!data.alternatives.empty())
    html += "<h3>One decision changed at a time</h3>\n" + table_of(data.alternatives, base);
  return html;
}

}  // namespace foretoken::html

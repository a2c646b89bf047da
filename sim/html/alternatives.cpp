// Other configurations of the same job.
#include <fmt/format.h>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/number.h"

namespace foretoken::html {

std::string alternatives(const ReportData& data) {
  if (data.alternatives.empty()) return "";
  Table table({{"configuration", false},
               {"step s"},
               {"to this scenario"},
               {"tokens/s"},
               {"MFU"},
               {"bubble"},
               {"peak GiB"},
               {"fits", false}});
  for (const Variant& each : data.alternatives) {
    const report::Metrics& m = *each.metrics;
    const double change = m.step_time / data.base.metrics.step_time - 1;
    table.add(
        {Table::text(each.label), Table::number(m.step_time.value(), report::significant(m.step_time.value())),
         Table::number(change, each.is_base ? "this one" : fmt::format("{:+.1f} %", 100 * change)),
         Table::number(m.tokens_per_s, report::significant(m.tokens_per_s)),
         Table::number(m.mfu, report::percent(m.mfu)),
         Table::number(m.bubble_fraction_of_step, report::percent(m.bubble_fraction_of_step)),
         Table::number(m.memory.peak.value(), report::gib(m.memory.peak)), Table::text(m.memory.fits ? "yes" : "no")},
        each.is_base);
  }
  return paragraph("One decision changed at a time, fastest first. A click on a column's head sorts by it.") +
         table.html(true);
}

}  // namespace foretoken::html

// Shows the nearest measured runs beside their predictions.
#include <fmt/format.h>

#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/number.h"

namespace foretoken::html {

std::string validation(const ReportData& data) {
  if (data.near_runs.empty()) return "";
  Table table({{"measured run", false},
               {"GPUs"},
               {"differs in", false},
               {"measured"},
               {"predicted"},
               {"error"},
               {"source", false}});
  for (const study::NearRun& run : data.near_runs)
    table.add({Table::text(run.id + (run.fitted ? " †" : "")), Table::number(run.gpus, report::whole(run.gpus)),
               Table::text(run.difference), Table::number(run.measured.value(), report::time_text(run.measured)),
               Table::number(run.predicted.value(), report::time_text(run.predicted)),
               Table::number(run.error(), fmt::format("{:+.1f} %", 100 * run.error())), Table::text(run.source)});
  return paragraph(
             "Published training steps nearest to this scenario in model size, GPUs, kind of GPU, software and cut, "
             "each predicted by this program. † marks runs that were used to fit a number of their software.") +
         table.html(true);
}

}  // namespace foretoken::html

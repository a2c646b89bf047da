// Shows the configuration of the job with its defaults filled in.
#include "sim/html/markup.h"
#include "sim/html/sections.h"
#include "sim/report/text/text.h"

namespace foretoken::html {

std::string configuration(const ReportData& data) {
  std::string html = "<table class=\"facts\"><tbody>\n";
  bool defaults = false;
  for (const auto& [label, value] : report::configuration_rows(data.base.job, data.base.notes)) {
    html += "<tr><th scope=\"row\">" + escaped(label) + "</th><td>" + escaped(value) + "</td></tr>\n";
    defaults = defaults || value.find('*') != value.npos;
  }
  html += "</tbody></table>\n";
  return defaults ? html + paragraph("* a default: the scenario does not state it.", "remark") : html;
}

}  // namespace foretoken::html

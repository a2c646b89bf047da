// Shows the command and the scenario, so that anyone can get the same report.
#include <fmt/format.h>

#include "sim/html/markup.h"
#include "sim/html/sections.h"

namespace foretoken::html {

std::string reproduce(const ReportData& data) {
  return fmt::format(
      "<p>foretoken {} wrote this file with</p>\n<pre><code>{}</code></pre>\n"
      "<p>from this scenario <button type=\"button\" class=\"needs-script\" id=\"download\">Save "
      "scenario.json</button></p>\n"
      "<pre class=\"json\"><code>{}</code></pre>\n"
      "<script type=\"application/json\" id=\"scenario\">{}</script>\n",
      escaped(data.version), escaped(data.command), escaped(data.scenario_json), script_json(data.scenario_json));
}

}  // namespace foretoken::html

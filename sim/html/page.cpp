// Puts style, sections, library and scripts together.
#include "sim/html/page.h"

#include <fmt/format.h>

#include "sim/draw/palette.h"
#include "sim/html/assets.h"
#include "sim/html/markup.h"

namespace foretoken::html {

void add_section(Page& page, const char* id, const char* title, const std::string& content) {
  if (content.empty()) return;
  page.sections += fmt::format("<section id=\"{0}\"><h2>{1}</h2>\n{2}</section>\n", id, title, content);
  page.contents += fmt::format("<a href=\"#{}\">{}</a>", id, title);
}

std::string page(const Page& page) {
  std::string script = "\"use strict\";\n(() => {\n";
  for (const std::string_view file : {kTablesJs, kChartsJs, kTimelineDataJs, kTimelineDrawJs, kTimelineFindJs,
                                      kTimelineSumJs, kTimelineTraceJs, kTimelineJs, kPageJs})
    script += file;
  return filled(kPageHtml, {{"title", escaped(page.title)},
                            {"kind", escaped(page.kind)},
                            {"evidence", page.evidence},
                            {"version", escaped(page.version)},
                            {"date", page.date.empty() ? "" : " on " + escaped(page.date)},
                            {"style", draw::page_palette() + std::string(kReportCss)},
                            {"contents", page.contents},
                            {"sections", page.sections},
                            {"library", std::string(kChartLicenceJs) + std::string(kChartMinJs)},
                            {"script", script + "})();\n"}});
}

}  // namespace foretoken::html

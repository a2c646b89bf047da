// Fills the sections into the page.
#include "sim/html/document.h"

#include <fmt/format.h>

#include "sim/draw/palette.h"
#include "sim/html/assets.h"
#include "sim/html/markup.h"
#include "sim/html/sections.h"

namespace foretoken::html {
namespace {

struct Section {
  const char* id;
  const char* title;
  std::string (*content)(const ReportData&);
};

constexpr Section kSections[] = {{"verdict", "Verdict", verdict},
                                 {"plan", "Capacity plan", plan},
                                 {"configuration", "Configuration", configuration},
                                 {"step", "Where the time goes", waterfall},
                                 {"timeline-section", "Pipeline over time", timeline},
                                 {"memory", "Memory", memory},
                                 {"communication", "Communication", communication},
                                 {"schedules", "Schedules", schedules},
                                 {"scaling", "Scaling and cost", scaling},
                                 {"sensitivity", "Worth of the hardware", sensitivity},
                                 {"alternatives", "Alternatives", alternatives},
                                 {"validation", "Nearest measured runs", validation},
                                 {"assumptions", "Assumptions and sources", assumptions},
                                 {"reproduce", "Reproduction", reproduce}};

}  // namespace

std::string document(const ReportData& data) {
  std::string sections, contents;
  for (const Section& section : kSections) {
    const std::string content = section.content(data);
    if (content.empty()) continue;
    sections += fmt::format("<section id=\"{0}\"><h2>{1}</h2>\n{2}</section>\n", section.id, section.title, content);
    contents += fmt::format("<a href=\"#{}\">{}</a>", section.id, section.title);
  }
  std::string script = "\"use strict\";\n(() => {\n";
  for (const std::string_view file : {kTablesJs, kChartsJs, kTimelineDataJs, kTimelineDrawJs, kTimelineFindJs,
                                      kTimelineSumJs, kTimelineTraceJs, kTimelineJs, kPageJs})
    script += file;
  return filled(kPageHtml, {{"title", escaped(data.base.metrics.name)},
                            {"version", escaped(data.version)},
                            {"date", data.date.empty() ? "" : " on " + escaped(data.date)},
                            {"style", draw::page_palette() + std::string(kReportCss)},
                            {"contents", contents},
                            {"sections", sections},
                            {"library", std::string(kChartLicenceJs) + std::string(kChartMinJs)},
                            {"script", script + "})();\n"}});
}

}  // namespace foretoken::html

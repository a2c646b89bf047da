// The page with its sections filled in.
#include "sim/html/document.h"

#include <fmt/format.h>

#include <map>

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
                                 {"sensitivity", "What the hardware is worth", sensitivity},
                                 {"alternatives", "Alternatives", alternatives},
                                 {"validation", "Nearest measured runs", validation},
                                 {"assumptions", "Assumptions and sources", assumptions},
                                 {"reproduce", "How to reproduce", reproduce}};

// `page` with every {{name}} replaced. Replacements are not searched for further names.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (std::size_t open = page.find("{{"); open != page.npos; open = page.find("{{")) {
    const std::size_t close = page.find("}}", open);
    out += page.substr(0, open);
    out += values.at(page.substr(open + 2, close - open - 2));
    page.remove_prefix(close + 2);
  }
  return out += page;
}

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
  for (const std::string_view file : {kTablesJs, kChartsJs, kTimelineDataJs, kTimelineDrawJs, kTimelineJs, kPageJs})
    script += file;
  return filled(kPageHtml, {{"title", escaped(data.base.metrics.name)},
                            {"version", escaped(data.version)},
                            {"style", std::string(kReportCss)},
                            {"contents", contents},
                            {"sections", sections},
                            {"library", std::string(kChartLicenceJs) + std::string(kChartMinJs)},
                            {"script", script + "})();\n"}});
}

}  // namespace foretoken::html

// Lists the sections of a training report.
#include "sim/html/document.h"

#include "sim/html/page.h"
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
  Page whole{.title = data.base.metrics.name,
             .kind = "predicted training step",
             .evidence = "<a href=\"#validation\">nearest measured runs</a> and ",
             .version = data.version,
             .date = data.date,
             .contents = {},
             .sections = {}};
  for (const Section& section : kSections) add_section(whole, section.id, section.title, section.content(data));
  return page(whole);
}

}  // namespace foretoken::html

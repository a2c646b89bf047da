// Describes scenarios in words: the resolved question without its answer.
#include <fmt/format.h>

#include "sim/io/scenario/read_scenario.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/step/source_notes.h"
#include "tools/text/describe.h"

namespace foretoken::tools {
namespace {

std::vector<std::string> scenario_row(const io::Document& document, io::Findings&) {
  const job::Job s = io::read_scenario_file(document.source.file).job;
  const job::Parallelism& p = s.parallelism;
  return {document.name,
          s.model.name,
          report::whole(s.gpus),
          s.groups.empty() ? s.gpu_names() : fmt::format("{} kinds", s.groups.size()),
          fmt::format("{}", p.tensor),
          fmt::format("{}", p.pipeline),
          p.virtual_pipeline > 1 ? fmt::format("{}", p.virtual_pipeline) : "",
          fmt::format("{}", p.data)};
}

std::string scenario_page(const io::Document& document, io::Findings&, const report::Paint& paint) {
  const auto [scenario, notes] = io::read_scenario_file(document.source.file);
  std::string text = paint.name(scenario.name);
  text += report::configuration_text(scenario, notes, paint);
  if (scenario.run)
    text += entry(paint, "run",
                  fmt::format("{} tokens{}", report::in_words(scenario.run->tokens),
                              scenario.run->price_per_gpu_hour
                                  ? fmt::format(" at {} {} per GPU hour", *scenario.run->price_per_gpu_hour,
                                                scenario.run->currency)
                                  : ""));
  std::vector<std::string> assumptions = notes.assumptions;
  for (std::string& note : step::source_notes(scenario)) assumptions.push_back(std::move(note));
  if (!assumptions.empty()) text += report::title_text("Assumptions", "", paint);
  for (const std::string& line : assumptions) text += paint.paragraph("  - ", line);
  return text;
}

}  // namespace

Described described_scenarios() {
  using Align = report::Table::Align;
  return {.command = "scenarios",
          .about = "List and show shipped scenarios (scenarios/NAME.json)",
          .kind = io::kScenarios,
          .columns = {{"name", Align::kLeft},
                      {"model", Align::kLeft},
                      {"GPUs"},
                      {"GPU", Align::kLeft, 1},
                      {"t"},
                      {"p"},
                      {"v"},
                      {"d"}},
          .row = scenario_row,
          .page = scenario_page};
}

}  // namespace foretoken::tools

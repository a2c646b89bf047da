// The command `foretoken explain`: shows where the time of a step goes and how much better hardware saves.
#include "sim/study/otherwise/explain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/io/scenario/read_residuals.h"
#include "sim/report/json.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/report/waterfall.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {
namespace explain_command {
namespace {

using report::Ink;
using report::Paint;
using Json = nlohmann::ordered_json;

constexpr double kPart = 0.1;  // each hardware property is made 10 % better

struct Options {
  std::string scenario, colour;
  std::vector<std::string> sets, variables;
  Form form = Form::kText;
};

// Draws a bar to the left for time saved, to the right for time lost.
std::string hardware_text(const study::Explanation& answer, const Paint& paint) {
  constexpr std::size_t kInFront = 53, kMostGap = 9, kMostHalf = 19;
  const std::size_t gap = std::min(kMostGap, paint.columns() - report::kScreenColumns);
  const std::size_t half = std::min(kMostHalf, (paint.columns() - kInFront - gap - 1) / 2);
  double widest = 0;
  for (const study::Sensitivity& each : answer.hardware) widest = std::max(widest, std::abs(answer.change(each)));
  std::string text = report::title_text(
      "Better hardware", fmt::format("change of the step with {:.0f} % more of one property", 100 * answer.part),
      paint);
  for (const study::Sensitivity& each : answer.hardware) {
    const double part = answer.change(each);
    const auto cells =
        static_cast<std::size_t>(std::lround(widest > 0 ? std::abs(part) / widest * static_cast<double>(half) : 0));
    const std::string bar = paint(part < 0 ? Ink::kGreen : Ink::kOrange, report::repeat("█", cells));
    std::string line =
        "  " + report::pad_right(each.name, 38) + fmt::format("{:>+9.2f} %  ", 100 * part) + std::string(gap, ' ');
    line += part < 0 ? std::string(half - cells, ' ') + bar + "│" : std::string(half, ' ') + "│" + bar;
    text += line + '\n';
  }
  return text;
}

// Says what offloading adds to the whole run, where both are known.
std::string offloaded_run_text(const report::Metrics& m, const Paint& paint) {
  if (!m.run || !m.memory.host) return "";
  const double part = m.time.offload / m.step_time;
  return paint.paragraph("  ",
                         fmt::format("whole run {}: {} without waiting for the host, {} for copies and updates there",
                                     report::days_text(m.run->days), report::days_text((1 - part) * m.run->days),
                                     report::days_text(part * m.run->days)));
}

std::string overlaps_text(const study::Explanation& answer, const Paint& paint) {
  if (answer.costly.empty()) return "";
  std::string text = report::title_text("Overlaps", "each left out in turn, and the step simulated again", paint);
  for (const study::CostlyOverlap& each : answer.costly)
    text += paint.paragraph("  ", study::costly_words(each, answer.repaired));
  return text;
}

std::string text_of(const study::Explanation& answer, const Paint& paint) {
  const report::Metrics& m = answer.prediction.metrics;
  std::string text = paint.name(m.name);
  text += fmt::format("  step {}, MFU {}; {:.0f} % interval {} to {}\n", report::time_text(m.step_time),
                      report::percent(m.mfu), 100 * m.interval->level, report::time_text(m.interval->low),
                      report::time_text(m.interval->high));
  text +=
      paint.paragraph("  ", fmt::format("simulated {}; {}", report::time_text(m.simulated_step_time), m.bias->words));
  text += paint.paragraph("  ", "interval from " + m.interval->words);
  text += offloaded_run_text(m, paint);
  text += report::waterfall_text(answer.fall, answer.prediction.job, paint);
  text += report::delays_text(m, paint);
  return text + hardware_text(answer, paint) + overlaps_text(answer, paint) + report::warnings_text(m.warnings, paint);
}

std::string json_of(const study::Explanation& answer) {
  const report::Metrics& m = answer.prediction.metrics;
  Json steps = Json::array(), hardware = Json::array(), overlaps = Json::array();
  for (const report::WaterfallStep& each : answer.fall.steps)
    steps.push_back({{"step", each.key}, {"time_s", des::to_seconds(each.time).value()}});
  for (const study::Sensitivity& each : answer.hardware)
    hardware.push_back({{"property", each.name},
                        {"belongs", each.belongs},
                        {"more", answer.part},
                        {"step_time_s", each.larger.value()},
                        {"step_change", answer.change(each)}});
  for (const study::CostlyOverlap& each : answer.costly)
    overlaps.push_back({{"overlap", job::name_of(each.key)},
                        {"step_time_s_without", each.without.value()},
                        {"step_change", each.without / answer.repaired - 1},
                        {"words", study::costly_words(each, answer.repaired)}});
  return Json{{"name", m.name},
              {"step_time_s", m.step_time.value()},
              {"simulated_step_time_s", m.simulated_step_time.value()},
              {"bias", {{"factor", m.bias_factor()}, {"words", m.bias->words}}},
              {"step_time_s_interval", Json::array({m.interval->low.value(), m.interval->high.value()})},
              {"stage", answer.fall.stage.number()},
              {"ideal_s", des::to_seconds(answer.fall.ideal).value()},
              {"waterfall", std::move(steps)},
              {"delays", report::delays_json(m)},
              {"hardware", std::move(hardware)},
              {"costly_overlaps", std::move(overlaps)},
              {"warnings", m.warnings}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

// Writes both tables, one below the other.
std::string csv_text(const study::Explanation& answer) {
  const Json json = Json::parse(json_of(answer));
  Json rows = json.at("waterfall");
  for (const Json& row : json.at("hardware")) rows.push_back(row);
  return csv_of(rows);
}

// A complaint that comes after reading names no file yet: other hardware may make a step too long for the clock.
study::Explanation explained(const Options& options, LongWork& work) {
  const study::ScenarioSource source =
      scenario_source(options.scenario, script_variables(options.variables, "foretoken explain"));
  try {
    return study::explain(source.read(options.sets), io::read_shipped_residuals(), kPart, work.watch());
  } catch (const ConfigError& error) {
    std::vector<Complaint> complaints = error.complaints();
    for (Complaint& complaint : complaints)
      if (complaint.file.empty()) complaint.file = options.scenario;
    throw ConfigError(std::move(complaints));
  }
}

int run(const Options& options) {
  LongWork work("hardware properties");
  const study::Explanation answer = explained(options, work);
  work.end();
  print(options.form == Form::kText  ? text_of(answer, page_paint(options.colour))
        : options.form == Form::kCsv ? csv_text(answer)
                                     : work.marked(json_of(answer)));
  return work.status(0);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken explain gpt3-175b-1024-a100\n"
    "  foretoken explain llama-3-70b-256-h100 --set parallelism.tensor=4 --json\n\n"
    "docs/user/explain.md explains each line.\n";

}  // namespace
}  // namespace explain_command

void add_explain(CLI::App& program, Action& chosen) {
  using namespace explain_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("explain", "Explain where the time of a step goes and what hardware is worth");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input")
      ->required();
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  add_form_options(*command, options->form);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools

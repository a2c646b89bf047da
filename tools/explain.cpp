// foretoken explain: why a step takes as long as it does, from ideal arithmetic downwards, and what better hardware is
// worth.
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
#include "sim/study/error_bar.h"
#include "sim/study/sensitivity.h"
#include "sim/study/simulate.h"
#include "sim/study/slow_hardware.h"
#include "tools/commands.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/scenario_text.h"

namespace foretoken::tools {
namespace {

using report::Ink;
using report::Paint;
using Json = nlohmann::ordered_json;

constexpr double kPart = 0.1;  // more of a hardware property

struct Options {
  std::string scenario, colour;
  std::vector<std::string> sets;
  bool json = false;
};

struct Explanation {
  study::Simulation simulation;
  report::Waterfall fall;
  Seconds mended;  ///< the step without slow hardware
  std::vector<study::Sensitivity> hardware;
};

Explanation explain(const Options& options) {
  study::Simulation run = study::simulate(ScenarioSource(options.scenario).read(options.sets));
  study::add_delays(run);
  study::add_interval(run.metrics, run.job, io::read_shipped_residuals());
  const job::Job mended = study::mended(run.job);  // hardware is weighed where all of it is as it should be
  Explanation answer{.simulation = std::move(run),
                     .fall = {},
                     .mended = study::predict(mended).step_time,
                     .hardware = study::sensitivities(mended, kPart)};
  answer.fall = study::waterfall_of(answer.simulation);
  return answer;
}

double change(const Explanation& answer, const study::Sensitivity& each) { return each.larger / answer.mended - 1; }

// A bar to the left for time saved, to the right for time lost.
std::string hardware_text(const Explanation& answer, const Paint& paint) {
  constexpr double kHalf = 19;
  double widest = 0;
  for (const study::Sensitivity& each : answer.hardware) widest = std::max(widest, std::abs(change(answer, each)));
  std::string text = report::title_text(
      "What hardware is worth",
      fmt::format("change of the step with {:.0f} % more of it, everything else as it is", 100 * kPart), paint);
  for (const study::Sensitivity& each : answer.hardware) {
    const double part = change(answer, each);
    const auto cells = static_cast<std::size_t>(std::lround(widest > 0 ? std::abs(part) / widest * kHalf : 0));
    const std::string bar = paint(part < 0 ? Ink::kGreen : Ink::kOrange, report::repeat("█", cells));
    std::string line = "  " + report::pad_right(each.name, 38) + fmt::format("{:>+9.2f} %", 100 * part) + "           ";
    line += part < 0 ? std::string(static_cast<std::size_t>(kHalf) - cells, ' ') + bar + "│"
                     : std::string(static_cast<std::size_t>(kHalf), ' ') + "│" + bar;
    text += line + '\n';
  }
  return text;
}

std::string text_of(const Explanation& answer, const Paint& paint) {
  const report::Metrics& m = answer.simulation.metrics;
  std::string text = paint(Ink::kBold, m.name) + '\n';
  text += fmt::format("  step {}, MFU {}; {:.0f} % interval {} to {}\n", report::time_text(m.step_time),
                      report::percent(m.mfu), 100 * m.interval->level, report::time_text(m.interval->low),
                      report::time_text(m.interval->high));
  text += report::paragraph("  ", m.interval->words);
  text += report::waterfall_text(answer.fall, answer.simulation.job, paint);
  text += report::delays_text(m, paint);
  return text + hardware_text(answer, paint) + report::warnings_text(m.warnings, paint);
}

std::string json_of(const Explanation& answer) {
  const report::Metrics& m = answer.simulation.metrics;
  Json steps = Json::array(), hardware = Json::array();
  for (const report::WaterfallStep& each : answer.fall.steps)
    steps.push_back({{"step", each.key}, {"time_s", des::to_seconds(each.time).value()}});
  for (const study::Sensitivity& each : answer.hardware)
    hardware.push_back({{"property", each.name},
                        {"belongs", each.belongs},
                        {"more", kPart},
                        {"step_time_s", each.larger.value()},
                        {"step_change", change(answer, each)}});
  return Json{{"name", m.name},
              {"step_time_s", m.step_time.value()},
              {"step_time_s_interval", Json::array({m.interval->low.value(), m.interval->high.value()})},
              {"stage", answer.fall.stage},
              {"ideal_s", des::to_seconds(answer.fall.ideal).value()},
              {"waterfall", std::move(steps)},
              {"delays", report::delays_json(m.delays, m.step_time)},
              {"hardware", std::move(hardware)},
              {"warnings", m.warnings}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

int run(const Options& options) {
  const Explanation answer = explain(options);
  print(options.json ? json_of(answer) : text_of(answer, Paint(wants_colour(options.colour))));
  return 0;
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken explain gpt3-175b-1024-a100\n"
    "  foretoken explain llama-3-70b-256-h100 --set parallelism.context=2 --json\n\n"
    "docs/user/explain.md says what each line means.\n";

}  // namespace

void add_explain(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("explain", "From the ideal step to the predicted one, and what hardware is worth");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input")
      ->required();
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_flag("--json", options->json, "JSON instead of text");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools

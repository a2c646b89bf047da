// The command `foretoken report`: writes everything about one scenario to one HTML file.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/process/memory_limit.h"
#include "sim/base/text.h"
#include "sim/html/document.h"
#include "sim/html/service_document.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/serve/read_service.h"
#include "sim/io/serve/served_residuals.h"
#include "sim/observe/critical_path.h"
#include "sim/serve/predict.h"
#include "sim/study/near/near_runs.h"
#include "sim/study/otherwise/variants.h"
#include "sim/study/plan/plan_file.h"
#include "sim/study/predict/delays.h"
#include "sim/study/predict/predict.h"
#include "sim/study/scenario_source.h"
#include "tools/commands.h"
#include "tools/options/command_line.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "validate/measured_runs.h"

namespace foretoken::tools {
namespace report_command {
namespace {

constexpr std::size_t kNearRuns = 10, kFound = 8;
constexpr double kSensitivityPart = 0.1;

struct Options {
  std::string scenario, output = "report.html", date;
  std::vector<std::string> sets, variables;
  bool require_fit = false;
};

// Returns the day of the report: as given, else SOURCE_DATE_EPOCH, else today.
std::string date_of(const Options& options) {
  if (!options.date.empty()) return printable(options.date, 40);
  constexpr std::int64_t kYear9999 = 253'370'764'800;
  std::int64_t now = std::time(nullptr);
  if (const char* const epoch = std::getenv("SOURCE_DATE_EPOCH")) now = std::strtoll(epoch, nullptr, 10);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(std::clamp<std::int64_t>(now, 0, kYear9999))));
}

// A report holds every pass and draws each: about 1.4 kilobytes.
void expect_a_report_that_fits(const job::Job& job, const std::string& file) {
  constexpr double kBytes = 1400, kMostPasses = 2'000'000;
  const double most = std::min(kMostPasses, memory_limit() / kBytes);
  const double passes = 2.0 * job.microbatches() * job.parallelism.pipeline * job.parallelism.virtual_pipeline;
  if (passes > most)
    throw ConfigError({{printable(file), "/batch/global",
                        fmt::format("a report of {:.0f} passes would take more memory than there is for it; expected "
                                    "at most {:.0f}, try a smaller batch, or simulate",
                                    passes, most)}});
}

// Makes the parts of a report one after another, and counts them. After Ctrl-C the other parts stay empty.
class Parts {
 public:
  explicit Parts(Watch watch) : watch_(std::move(watch)) { watch_.show(0, kCount); }
  template <class Make>
  auto operator()(Make make) {
    using Part = decltype(make(watch_));
    if (watch_.stopped()) return Part{};
    Part part = make(Watch{.stop = watch_.stop});
    if (!watch_.stopped()) watch_.show(++done_, kCount);
    return part;
  }

 private:
  static constexpr std::size_t kCount = 6;
  Watch watch_;
  std::size_t done_ = 0;
};

// Returns what the page needs beside its plan. It refers to `base`.
html::ReportData report_of(const Options& options, const study::ScenarioSource& source, const study::Prediction& base,
                           const trust::Evidence& evidence, const Watch& watch) {
  Parts part(watch);
  const std::vector<std::string>& sets = options.sets;
  return {
      .base = base,
      .waterfall = study::waterfall_of(base),
      .critical_path = observe::critical_path(base.step.workload, base.run),
      .communication = observe::communication(base.step, base.run, base.observations),
      .schedules = part([&](const Watch& w) { return study::other_schedules(source, sets, base.job, evidence, w); }),
      .scaling = part([&](const Watch& w) { return study::other_sizes(source, sets, base.job, evidence, w); }),
      .alternatives = part([&](const Watch& w) { return study::other_decisions(source, sets, base, evidence, w); }),
      .found =
          part([&](const Watch& w) { return study::found_by_search(source, sets, base.job, kFound, evidence, w); }),
      .sensitivity_part = kSensitivityPart,
      .sensitivity = part([&](const Watch& w) {
        return study::sensitivities(base.job, kSensitivityPart, base.metrics.bias_factor(), w);
      }),
      .near_runs = part([&](const Watch&) {
        return study::near_runs(base.job, validate::measured_runs(), kNearRuns, evidence.weights);
      }),
      .plan = {},
      .command = {},
      .version = std::string(version()),
      .date = date_of(options),
      .scenario_json = source.merged(options.sets)};
}

// Writes the report of a question about serving.
int run_service(const Options& options, const std::string& command) {
  const serve::Service service = io::read_service_file(options.scenario, options.sets);
  refuse_same_files(std::array{NamedFile{"-o", options.output}}, service.files);
  OutputFile file(options.output);
  const serve::Prediction prediction = serve::predict(service, true);
  const trust::ServedEvidence evidence = io::read_shipped_served_residuals();
  const study::ServiceTrust trusted =
      prediction.fits ? study::trust_of(service, prediction, evidence) : study::ServiceTrust();
  file.write(html::service_document({.service = service,
                                     .prediction = prediction,
                                     .trusted = trusted,
                                     .command = command,
                                     .version = std::string(version()),
                                     .date = date_of(options)}));
  file.commit();
  print_error(fmt::format("Wrote {}.", printable(options.output)));
  return options.require_fit && !prediction.fits ? kRefused : 0;
}

int run(const Options& options, const std::string& command) {
  if (options.scenario != "-" && io::is_service(options.scenario)) return run_service(options, command);
  std::optional<study::PlanFile> plan = study::read_plan_file(options.scenario);
  if (plan && !options.sets.empty())
    throw ConfigError({{"--set", "",
                        "expected no --set with a plan, whose numbers are fixed; give --set to foretoken plan, or "
                        "report a scenario"}});
  const study::ScenarioSource source =
      plan ? study::ScenarioSource(plan->scenario, options.scenario)
           : scenario_source(options.scenario, script_variables(options.variables, "foretoken report"));
  std::vector<std::filesystem::path> inputs = io::paths_of(source.files(options.sets));
  if (plan) inputs.emplace_back(options.scenario);
  refuse_same_files(std::array{NamedFile{"-o", options.output}}, inputs);
  OutputFile file(options.output);
  LongWork work("parts");
  const trust::Evidence evidence = io::read_shipped_residuals();
  job::Made made = source.read(options.sets);
  expect_a_report_that_fits(made.job, source.name());
  const study::Prediction base = study::predict(
      std::move(made), {.advice = true, .delays = study::Delays::kEach, .interval = study::IntervalQuestion{evidence}});
  html::ReportData data = report_of(options, source, base, evidence, work.watch());
  if (plan) data.plan = std::move(plan->plan);
  data.command = command;
  file.write(html::document(data));
  file.commit();
  work.end();
  print_error(fmt::format("Wrote {}.", printable(options.output)));
  return work.status(options.require_fit && !base.metrics.memory.fits ? 1 : 0);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken report gpt3-175b-1024-a100 -o report.html\n"
    "  foretoken plan my.json --tokens 300B --gpus 256:4096:x2 --json >plan.json\n"
    "  foretoken report plan.json\n"
    "  foretoken report my.json --set batch.micro=2 -o micro-2.html\n\n"
    "The file needs no network. It can be read, printed and mailed as it is.\n";

}  // namespace
}  // namespace report_command

void add_report(CLI::App& program, Action& chosen) {
  using namespace report_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("report", "Write everything about a scenario or a capacity plan to one HTML file");
  command->footer(kExamples);
  command
      ->add_option(
          "SCENARIO", options->scenario,
          "Scenario file or name, or a plan of `foretoken plan --json`; - reads a scenario from standard input")
      ->required();
  command->add_option("-o,--output", options->output, "Write this file (report.html)")->type_name("FILE");
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  command->add_option("--date", options->date, "Show this date in the report (SOURCE_DATE_EPOCH, else today)")
      ->type_name("TEXT");
  command->add_flag("--require-fit", options->require_fit, "Exit with 1 when the scenario does not fit in memory");
  command->callback(
      [&chosen, options, command] { chosen = [options, command] { return run(*options, command_line(*command)); }; });
}

}  // namespace foretoken::tools

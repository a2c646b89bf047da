// The command `foretoken diagnose`: reads a training log or a trace, and explains its step beside a prediction.
#include "sim/study/diagnose/diagnose.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/log/read_log.h"
#include "sim/io/import/trace/gpu_trace.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/study/near/near_runs.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/diagnose/log_answer.h"
#include "tools/text/diagnose/trace_answer.h"
#include "validate/measured_runs.h"

namespace foretoken::tools {
namespace diagnose_command {
namespace {

constexpr std::size_t kNearRuns = 3;

struct Options {
  std::string log, scenario, colour;
  std::vector<std::string> sets, variables;
  Form form = Form::kText;
  int interval = 90;
};

LogAnswer answer_of(const Options& options, LongWork& work) {
  io::Findings findings;
  std::optional<io::log::TrainingLog> log = io::log::read_log_file(options.log, findings);
  findings.throw_if_wrong();
  LogAnswer answer{.file = printable(options.log), .log = std::move(*log), .steady = {}, .near_runs = {}};
  answer.steady = study::steady_state(answer.log);
  if (answer.steady.measured == study::Measured::kSeconds) answer.step = Seconds(answer.steady.median);
  if (options.scenario.empty()) return answer;
  const trust::Evidence& evidence = io::read_shipped_residuals();
  answer.diagnosis = study::diagnose(
      scenario_source(options.scenario, script_variables(options.variables, "foretoken diagnose")).read(options.sets),
      answer.log, answer.steady, study::IntervalQuestion{evidence, options.interval / 100.0}, work.watch());
  answer.step = answer.diagnosis->measured;
  answer.near_runs =
      study::near_runs(answer.diagnosis->prediction.job, validate::measured_runs(), kNearRuns, evidence.weights);
  return answer;
}

// Answers about a trace of the PyTorch profiler.
int run_trace(const Options& options) {
  io::Findings findings;
  const std::optional<io::trace::GpuTrace> trace = io::trace::read_trace_file(options.log, findings);
  findings.throw_if_wrong();
  TraceAnswer answer{.file = printable(options.log), .gpu = trace->gpu, .times = study::trace_times(*trace)};
  if (!options.scenario.empty()) {
    const trust::Evidence& evidence = io::read_shipped_residuals();
    answer.prediction = study::predict(
        scenario_source(options.scenario, script_variables(options.variables, "foretoken diagnose")).read(options.sets),
        {.interval = study::IntervalQuestion{evidence, options.interval / 100.0}});
    answer.predicted = study::predicted_times(*answer.prediction, *trace);
  }
  print(options.form == Form::kJson ? trace_answer_json(answer)
                                    : trace_answer_text(answer, page_paint(options.colour)));
  return 0;
}

int run(const Options& options) {
  if (options.scenario.empty() && !options.sets.empty())
    throw ConfigError({{"foretoken diagnose", "", "--set overrides a scenario, and none is given"}});
  if (io::trace::looks_like_trace(options.log)) return run_trace(options);
  LongWork work("causes");
  const LogAnswer answer = answer_of(options, work);
  work.end();
  print(options.form == Form::kJson ? work.marked(log_answer_json(answer))
                                    : log_answer_text(answer, page_paint(options.colour)));
  return work.status(0);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken diagnose train.log\n"
    "  foretoken diagnose train.log my.json --json\n"
    "  foretoken diagnose slurm-123.out train.sh --set cluster=dgx-h100-ndr\n"
    "  foretoken diagnose rank-0.pt.trace.json.gz my.json\n\n"
    "docs/user/diagnose.md explains each line.\n";

}  // namespace
}  // namespace diagnose_command

void add_diagnose(CLI::App& program, Action& chosen) {
  using namespace diagnose_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("diagnose", "Explain the step time of a training log or trace");
  command->footer(kExamples);
  command
      ->add_option("LOG", options->log,
                   "Log of Megatron-LM, NeMo, MLPerf, DeepSpeed, torchtitan, Composer or nanotron, or a trace of the "
                   "PyTorch profiler (.json, .json.gz)")
      ->required();
  command->add_option("SCENARIO", options->scenario, "Scenario or launch file to compare with; - reads standard input");
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  command->add_flag_callback(
      "--json", [options] { options->form = Form::kJson; }, "Print one line of JSON");
  add_interval_option(*command, options->interval);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools

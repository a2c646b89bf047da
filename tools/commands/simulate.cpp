// The command `foretoken simulate`: predicts one training step of each scenario.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/io/json/parse_json.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/report/json.h"
#include "sim/report/text/summary.h"
#include "sim/report/text/text.h"
#include "sim/study/ordered_parallel.h"
#include "sim/study/predict/predict.h"
#include "sim/study/predict/strict.h"
#include "sim/study/search/quick_choice.h"
#include "tools/commands.h"
#include "tools/commands/share_cluster.h"
#include "tools/options/command_line.h"
#include "tools/options/lines.h"
#include "tools/options/options.h"
#include "tools/options/question_options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"
#include "tools/output/step_files.h"
#include "tools/text/simulate_text.h"

namespace foretoken::tools {
namespace simulate_command {
namespace {

constexpr int kMostThreads = 256, kWrongInput = 2;

struct Options {
  QuestionOptions asked;
  std::vector<std::string> scenarios, sets, variables, nodes;
  std::string fidelity = "stage", collectives, colour;
  StepFiles files;
  Form form = Form::kText;
  bool details = false, require_fit = false, strict = false, unfolded = false, share_cluster = false;
  int threads = 1, interval = 90;
};

// One question: a file, or a line of standard input.
struct Question {
  std::string file;
  std::optional<std::string> line;
  std::size_t line_number = 0;
  std::vector<std::string> assumptions = {};  // of a question without a file
  std::vector<io::ReadFile> files = {};       // that its options name
};

// Returns the name that complaints use: the file, or "-:3" for the third line of standard input.
std::string name_of(const Question& question) {
  return question.line_number > 0 ? fmt::format("-:{}", question.line_number) : question.file;
}

struct Answer {
  std::string output;
  std::vector<Complaint> complaints;
  bool fits = true;
  bool refused = false;  // by --strict, with the reason as a complaint
};

// Gives the questions in order. "-" stands for all lines of standard input that are not blank. When there is none, it
// gives one empty question, which is refused later.
class Questions {
 public:
  explicit Questions(const std::vector<std::string>& files) : files_(files) {}
  /// Returns the number of questions; 0 while it is not known.
  [[nodiscard]] std::size_t count() const {
    return std::find(files_.begin(), files_.end(), "-") == files_.end() ? files_.size() : 0;
  }
  std::optional<Question> operator()() {
    for (; at_ < files_.size(); ++at_) {
      if (files_[at_] != "-") return Question{files_[at_++], std::nullopt, 0};
      while (std::optional<std::string> line = lines_.next()) {
        if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
        read_ = true;
        return Question{"-", std::move(line), lines_.number()};
      }
      if (!std::exchange(read_, true)) return Question{"-", "", 0};
    }
    return std::nullopt;
  }

 private:
  const std::vector<std::string>& files_;
  Lines lines_{std::cin, "-", io::kLargestFile};
  std::size_t at_ = 0;
  bool read_ = false;
};

// Returns the only question. Throws when there are more: --trace and its like hold one run.
Question only_question(Questions& questions) {
  const std::optional<Question> first = questions();
  std::size_t count = first ? 1 : 0;
  while (questions()) ++count;
  if (count != 1)
    throw ConfigError({{"foretoken simulate", "",
                        fmt::format("--trace and other files of a step take one scenario, found {}", count)}});
  return *first;
}

// Returns the overrides of --model, --gpus and so on, then those of --set.
std::vector<std::string> all_sets(const Options& options) {
  std::vector<std::string> sets = sets_of(options.asked);
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  return sets;
}

// Returns the overrides that a question needs when it is read. A question without a file holds them already.
std::vector<std::string> sets_on_top(const Options& options) {
  return options.scenarios.empty() ? std::vector<std::string>() : all_sets(options);
}

io::ScriptVariables variables_of(const Options& options) {
  return script_variables(options.variables, "foretoken simulate");
}

// Returns the question of the options alone. A quick search chooses the keys that no option states.
Question question_without_file(const Options& options, const trust::Evidence& evidence) {
  StatedQuestion stated = stated_question(options.asked, options.sets, "foretoken simulate");
  const io::OpenScenario open = io::read_open_scenario_text(stated.text, kStatedOrigin, all_sets(options));
  ProgressLine line("configurations");
  const study::QuickChoice chosen = study::choose_quickly(
      open, evidence, std::max(1U, std::thread::hardware_concurrency()),
      {.progress = [&](std::size_t done, std::size_t total) { line.show(done, total); }, .stop = nullptr});
  line.clear();
  stated.assumptions.push_back(
      fmt::format("The fastest of {} configurations: {} (state --tp, --pp, --dp, --cp or --micro-batch to choose).",
                  chosen.considered, chosen.words));
  return {kStatedOrigin, chosen.scenario, 0, std::move(stated.assumptions), open.files()};
}

step::Fidelity fidelity_of(const Options& options) {
  return options.fidelity == "kernel" ? step::Fidelity::kKernel : step::Fidelity::kStage;
}

std::optional<ranks::Traffic> traffic_of(const Options& options) {
  if (options.collectives.empty()) return std::nullopt;
  return options.collectives == "flows" ? ranks::Traffic::kFlows : ranks::Traffic::kAnalytic;
}

// One screen shows all slow hardware together, a table of scenarios none.
study::Delays delays_of(const Options& options) {
  if (options.form == Form::kCsv) return study::Delays::kNone;
  const bool each = options.details || options.form == Form::kJson;
  return each ? study::Delays::kEach : study::Delays::kTogether;
}

// Returns the question as other commands take it: "gpt3.json --set a=b", or the options that state it. A question that
// does not fit into a line gets "..." in place of its overrides.
std::string repeated_question(const Options& options) {
  constexpr std::size_t kLongest = 40;
  std::string words;
  if (options.scenarios.empty()) {
    for (const std::string& word : words_of(options.asked)) words += (words.empty() ? "" : " ") + shell_word(word);
    return words;
  }
  const std::string name = shell_word(options.scenarios.front());
  for (const std::string& variable : options.variables) words += " --env " + shell_word(variable);
  for (const std::string& set : all_sets(options)) words += " --set " + shell_word(set);
  return name.size() + words.size() <= kLongest ? name + words : name + (words.empty() ? "" : " ...");
}

// Returns the commands to run next. Standard input and lists of scenarios cannot be repeated.
std::vector<report::Hint> hints_for(const Options& options, const report::Metrics& metrics) {
  if (options.scenarios.size() > 1 || options.scenarios == std::vector<std::string>{"-"}) return {};
  return next_commands(repeated_question(options), !options.scenarios.empty(), metrics);
}

// Writes one screen, or with --details everything.
std::string text_of(const Options& options, const Question& question, const study::Prediction& prediction,
                    const report::Paint& paint) {
  if (options.details)
    return report::to_text(prediction.job, prediction.notes, prediction.observations, prediction.metrics, paint);
  return report::summary_text(prediction.job, prediction.observations, prediction.metrics,
                              {.scaled = report::scaled_costs(prediction.job),
                               .assumed = question.assumptions,
                               .hints = hints_for(options, prediction.metrics)},
                              paint);
}

std::string output_of(const Options& options, const Question& question, const study::Prediction& prediction,
                      const report::Paint& paint) {
  switch (options.form) {
    case Form::kJson:
      return report::to_json(prediction.metrics) + '\n';
    case Form::kCsv:
      return simulate_csv(prediction.metrics);
    case Form::kText:
      break;
  }
  return text_of(options, question, prediction, paint);
}

std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

using Evidence = std::shared_future<trust::Evidence>;

// Shows how much of a step is simulated. Steps that run side by side show nothing: run() counts them.
class StepProgress {
 public:
  explicit StepProgress(const Options& options) {
    if (options.threads == 1) line_.emplace("tasks");
  }

  Watch watch() {
    if (!line_) return {};
    return {.progress = [this](std::size_t done, std::size_t total) {
      const bool ended = done == total;  // how much follows is not known
      line_->show(ended ? 0 : done, ended ? 0 : total);
    }};
  }

 private:
  std::optional<ProgressLine> line_;
};

Answer answer(const Options& options, const Question& question, const Evidence& evidence, const report::Paint& paint) {
  try {
    if (question.line && question.line->empty())
      throw ConfigError({{"-", "", "standard input has no scenario; expected one scenario a line"}});
    const std::vector<std::string> sets = sets_on_top(options);
    job::Made scenario = question.line ? io::read_scenario_text(*question.line, name_of(question), sets)
                                       : io::read_scenario_file(question.file, sets, variables_of(options));
    scenario.notes.assumptions.insert(scenario.notes.assumptions.begin(), question.assumptions.begin(),
                                      question.assumptions.end());
    if (options.strict)
      if (const auto refusal = study::why_not_strict(scenario.job, name_of(question)))
        return {.output = options.form == Form::kJson ? complaints_json(ConfigError({*refusal})) : "",
                .complaints = {*refusal},
                .refused = true};
    StepFileWriter files(options.files, options.fidelity);
    StepProgress progress(options);
    const study::Prediction prediction =
        study::predict(std::move(scenario),
                       {.fidelity = fidelity_of(options),
                        .unfolded = options.unfolded,
                        .traffic = traffic_of(options),
                        .keeps_tasks = options.files.any(),
                        .advice = true,
                        .forward_only = options.form == Form::kJson,
                        .delays = delays_of(options),
                        .interval = study::IntervalQuestion{evidence.get(), options.interval / 100.0}},
                       progress.watch());
    files.write(prediction);
    Answer answer{.output = {}, .complaints = {}, .fits = prediction.metrics.memory.fits};
    answer.output = output_of(options, question, prediction, paint);
    return answer;
  } catch (const ConfigError& error) {
    std::vector<Complaint> complaints = error.complaints();
    for (Complaint& complaint : complaints)  // a complaint after reading names no file yet
      if (complaint.file.empty()) complaint.file = name_of(question);
    complaints = as_given(std::move(complaints), options.asked);
    return {.output = options.form == Form::kJson ? complaints_json(ConfigError(complaints)) : "",
            .complaints = complaints};
  }
}

int run(const Options& options) {
  if (!variables_of(options).empty() && options.scenarios.empty())
    throw ConfigError({{"foretoken simulate", "", "--env states variables of a launch script; give it as SCENARIO"}});
  const report::Paint paint(options.form == Form::kText && wants_colour(options.colour), page_columns());
  if (options.share_cluster && options.scenarios.empty())
    throw ConfigError({{"foretoken simulate", "", "SCENARIO is required with --share-cluster"}});
  if (options.share_cluster)
    return share_cluster({options.scenarios, all_sets(options), options.nodes, options.form == Form::kJson, paint});
  // The residuals are read beside the scenario. Without room for another thread they are read when they are needed.
  const Evidence evidence = std::async(std::launch::async | std::launch::deferred, io::read_shipped_residuals).share();
  bool wrong = false, refused = false, fits = true, first = true;
  const bool writes_files = options.files.any();
  const std::size_t separator = options.details ? paint.columns() : report::kScreenColumns;
  Questions questions(options.scenarios);
  std::optional<Question> only;
  if (options.scenarios.empty())
    only = question_without_file(options, evidence.get());
  else if (writes_files)
    only = only_question(questions);
  if (writes_files) {
    auto inputs = only->line ? io::files_of_scenario(*only->line, name_of(*only), sets_on_top(options))
                             : io::files_of_scenario(only->file, sets_on_top(options), variables_of(options));
    inputs.insert(inputs.end(), only->files.begin(), only->files.end());
    refuse_same_files(named_files(options.files), io::paths_of(inputs));
  }
  std::optional<ProgressLine> line;
  if (options.threads > 1 && questions.count() > 0) line.emplace("scenarios");
  constexpr std::size_t kMostLines = Complaints::kMost + 1;  // of one scenario, and of all together
  std::size_t done = 0, complaints = 0;
  study::ordered_parallel<Question>(
      options.threads, [&] { return only ? std::exchange(only, std::nullopt) : questions(); },
      [&](const Question& question) { return answer(options, question, evidence, paint); },
      [&](const Answer& answer) {
        if (line) line->clear();
        for (const Complaint& complaint : answer.complaints)
          if (++complaints <= kMostLines) print_error(complaint.line());
        wrong = wrong || (!answer.complaints.empty() && !answer.refused);
        refused = refused || answer.refused;
        fits = fits && answer.fits;
        const bool more = !first && !answer.output.empty();
        if (more && options.form == Form::kText) print("\n" + std::string(separator, '=') + "\n\n");
        print(more && options.form == Form::kCsv ? without_first_line(answer.output) : answer.output);
        first = first && answer.output.empty();
        if (line) line->show(++done, questions.count());
      });
  if (complaints > kMostLines)
    print_error(fmt::format("foretoken simulate: and {} more complaints", complaints - kMostLines));
  return wrong ? kWrongInput : refused || (options.require_fit && !fits) ? kRefused : 0;
}

void add_share_options(CLI::App& command, Options& options) {
  CLI::Option* share = command.add_flag("--share-cluster", options.share_cluster,
                                        "Simulate the scenarios together on one cluster, with every GPU and link");
  command
      .add_option("--nodes", options.nodes,
                  "Place a scenario on these nodes: 0-3,8; once for each scenario (default: one after another)")
      ->allow_extra_args(false)
      ->needs(share)
      ->type_name("LIST");
  for (const char* other : {"--fidelity", "--collectives", "--strict", "--require-fit", "--details", "--csv", "--env"})
    share->excludes(command.get_option(other));
  for (const NamedFile& file : named_files({})) share->excludes(command.get_option(file.option));
}

void add_form_options(CLI::App& command, Options& options) {
  command.add_flag("--details", options.details, "Print every number, the configuration, memory and assumptions");
  CLI::Option* json = command.add_flag_callback(
      "--json", [&options] { options.form = Form::kJson; }, "Print one JSON object a line instead of text");
  command
      .add_flag_callback(
          "--csv", [&options] { options.form = Form::kCsv; }, "Print the main figures as CSV, a line for each scenario")
      ->excludes(json);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken simulate --model qwen3-32b --cluster dgx-h100-ndr --gpus 64\n"
    "  foretoken simulate scenarios/gpt3-175b-1024-a100.json\n"
    "  foretoken simulate gpt3-175b-1024-a100 --set batch.global=3072 --set model.n_layer=48\n"
    "  foretoken simulate gpt3-175b-1024-a100 --trace step.json   (open it in ui.perfetto.dev)\n"
    "  foretoken simulate gpt3-175b-1024-a100 --details           (every number and assumption)\n"
    "  foretoken simulate scenarios/*.json --json --threads 8 | jq '[.name, .step_time_s, .mfu]'\n"
    "  foretoken simulate a.json b.json --share-cluster --nodes 0-3 --nodes 4-7\n"
    "  generate-scenarios | foretoken simulate - --json           (one scenario a line)\n";

}  // namespace
}  // namespace simulate_command

void add_simulate(CLI::App& program, Action& chosen) {
  using namespace simulate_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("simulate", "Predict one training step of each scenario");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenarios,
                      "Scenario files or names; - reads one scenario a line from standard input");
  add_question_options(*command, options->asked);
  add_size_options(*command, options->asked);
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  add_form_options(*command, *options);
  add_step_file_options(*command, options->files);
  command
      ->add_option("--fidelity", options->fidelity,
                   "Simulate one task a pass (stage), or every kernel and collective (kernel)")
      ->check(one_of({"stage", "kernel"}))
      ->type_name("stage|kernel");
  command->add_flag("--unfolded", options->unfolded, "Simulate every GPU of the job, not one for all that do the same");
  command
      ->add_option("--collectives", options->collectives,
                   "With --unfolded: collectives as flows that share links, or with one cost each (analytic)")
      ->check(one_of({"flows", "analytic"}))
      ->type_name("flows|analytic");
  command->add_option("--threads", options->threads, "Simulate this many scenarios at the same time")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N");
  command->add_flag("--require-fit", options->require_fit, "Exit with 1 when a scenario does not fit in memory");
  add_interval_option(*command, options->interval);
  add_strict_option(*command, options->strict);
  add_share_options(*command, *options);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] {
    chosen = [options] { return with_given_names(options->asked, [&] { return run(*options); }); };
  });
}

}  // namespace foretoken::tools

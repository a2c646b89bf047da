// The command `foretoken search`: finds the best configurations of a scenario that leaves keys open.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/search/searcher.h"
#include "sim/study/search/why_none.h"
#include "tools/commands.h"
#include "tools/options/asked_source.h"
#include "tools/options/open_options.h"
#include "tools/options/options.h"
#include "tools/options/search_values.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/output/search_log.h"
#include "tools/text/json_csv.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace search_command {
namespace {

constexpr int kMostThreads = 256, kMostTop = 10'000;

struct Options {
  OpenOptions open;
  QuestionOptions asked;
  std::string scenario, objective = "step-time", pareto = "step-time,memory", out, write, colour;
  int top = 10, threads = 0, interval = 90;
  Form form = Form::kText;
  bool require_fit = true, resume = false;
};

study::SearchRequest request_of(const Options& options, const io::OpenScenario& question, int stated_zero_stage) {
  return {.question = question.question(),
          .inputs = question.inputs(),
          .space = space_of(options.open, stated_zero_stage),
          .objective = parse_objective(options.objective),
          .axes = parse_axes(options.pareto),
          .top = static_cast<std::size_t>(options.top),
          .require_fit = options.require_fit,
          .program = std::string(version())};
}

// Opens the file of --write before the work, so that a wrong path is refused at once.
std::unique_ptr<OutputFile> open_winner(const Options& options) {
  return options.write.empty() ? nullptr : std::make_unique<OutputFile>(options.write);
}

// Prints the answer, writes the best configuration to `winner`, and returns the exit status.
int finish(const Options& options, const study::SearchAnswer& answer, const std::unique_ptr<OutputFile>& winner) {
  if (winner && !answer.ranked.empty()) {
    const study::FoundConfiguration& best = answer.ranked.front();
    winner->write(io::read_open_scenario_text(best.text, "the configuration found").text_of(best.scenario, 2) + '\n');
    winner->commit();
  }
  print(options.form == Form::kText  ? search_text(answer, page_paint(options.colour))
        : options.form == Form::kCsv ? csv_of(nlohmann::ordered_json::parse(search_json(answer)).at("ranked"))
                                     : search_json(answer));
  return answer.ranked.empty() ? 1 : 0;
}

std::size_t threads_of(const Options& options) {
  if (options.threads > 0) return static_cast<std::size_t>(options.threads);
  return std::max(1U, std::thread::hardware_concurrency());
}

// Searches, and writes each outcome to the file of --out as soon as it is decided.
search::SearchResult search_all(const Options& options, const study::SearchRequest& request, const search::Space& space,
                                const Watch& watch) {
  std::optional<SearchLog> log;
  if (!options.out.empty()) log.emplace(options.out, request, options.resume);
  search::SearchHooks hooks{.decided = {}, .progress = {}, .stop = watch.stop};
  hooks.progress = [&](const search::Progress& progress) { watch.show(progress.decided, progress.total); };
  if (log) {
    hooks.known = log->known();
    hooks.decided = [&](std::span<const search::Outcome> outcomes) { log->append(space, outcomes); };
  }
  return run_search(space,
                    {.objective = request.objective,
                     .top = request.top,
                     .axes = request.axes,
                     .require_fit = request.require_fit,
                     .threads = threads_of(options)},
                    hooks);
}

int run(const Options& options) {
  if (options.resume && options.out.empty())
    throw ConfigError({{"--resume", "", "expected --out FILE too: the file to continue"}});
  const AskedSource asked = asked_source(options.scenario, options.asked, options.open, "foretoken search");
  const io::OpenScenario question = asked.source.read_open(asked.sets);
  refuse_same_files(std::array{NamedFile{"--out", options.out}, NamedFile{"--write", options.write}},
                    io::paths_of(question.files()));
  const study::SearchRequest request = request_of(options, question, asked.stated_zero_stage);
  const search::Space space(question, request.space);
  const std::unique_ptr<OutputFile> winner = open_winner(options);
  if (space.candidates().empty()) throw ConfigError(study::why_none_is_valid(question, request.space));
  LongWork work("configurations", true);
  const search::SearchResult result = search_all(options, request, space, work.watch());
  if (result.complete && result.ranking.count(search::Verdict::kInvalid) == space.candidates().size())
    throw ConfigError(study::why_none_is_valid(question, request.space));
  const trust::Evidence evidence = io::read_shipped_residuals();
  const study::SearchAnswer answer =
      study::answer_of(request, space, result.ranking, result.complete,
                       {evidence, options.interval / 100.0, threads_of(options), options.resume});
  work.end();
  return work.status(finish(options, answer, winner));
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken search --model qwen3-32b --cluster dgx-h100-ndr --gpus 64\n"
    "  foretoken search my-question.json                     (searches the keys that it leaves out)\n"
    "  foretoken search gpt3-175b-1024-a100 --free all --fix parallelism.tensor=8\n"
    "  foretoken search gpt3-175b-1024-a100 --free all --gpus 256:4096:x2 --objective cost\n"
    "  foretoken search big.json --out results.jsonl --resume       (continues after an interruption)\n"
    "\n"
    "Exit status 1: no configuration fits.\n";

}  // namespace
}  // namespace search_command

void add_search(CLI::App& program, Action& chosen) {
  using namespace search_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("search", "Find the best configurations for a model, a cluster and a batch");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input");
  add_question_options(*command, options->asked);
  add_tokens_option(*command, options->asked);
  add_open_options(*command, options->open);
  command->add_option("--objective", options->objective, "Minimise this: step-time, cost, gpus or memory")
      ->type_name("step-time|cost|gpus|memory");
  command->add_option("--pareto", options->pareto, "Axes of the Pareto front (step-time,memory)")->type_name("X,Y");
  command->add_option("--top", options->top, "List this many configurations (10)")
      ->check(whole_number(1, kMostTop))
      ->type_name("N");
  command->add_flag("--require-fit,!--no-require-fit", options->require_fit,
                    "Leave out configurations that do not fit in memory (the default)");
  command->add_option("--threads", options->threads, "Number of threads (all cores)")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N");
  command->add_option("--out", options->out, "Append every outcome to this file, one JSON object a line")
      ->type_name("FILE");
  command->add_flag("--resume", options->resume, "Continue the search of the --out file");
  add_form_options(*command, options->form);
  add_interval_option(*command, options->interval);
  command->add_option("--write", options->write, "Write the best configuration as a scenario file")->type_name("FILE");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] {
    chosen = [options] { return with_given_names(options->asked, options->open, [&] { return run(*options); }); };
  });
}

}  // namespace foretoken::tools

// foretoken search: the best configurations of a scenario that leaves keys open.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/io/json/text.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/scenario_source.h"
#include "sim/study/search/request.h"
#include "sim/study/search/searcher.h"
#include "tools/commands.h"
#include "tools/options/open_options.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"
#include "tools/output/search_log.h"
#include "tools/ranks.h"
#include "tools/text/search_text.h"

namespace foretoken::tools {
namespace {

using search::Objective;

constexpr int kMostThreads = 256, kMostTop = 10'000, kWrongInput = 2, kInterrupted = 130;

struct Options {
  OpenOptions open;
  std::string scenario, objective = "step-time", pareto = "step-time,memory", out, shard, write, colour;
  std::vector<std::string> files;
  int top = 10, threads = 0, interval = 90;
  bool json = false, require_fit = true, resume = false;
};

// Set by Ctrl-C, and only then: a signal handler can reach nothing else.
std::atomic<bool> interrupted = false;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<bool>::is_always_lock_free);

// While it lives, the first Ctrl-C asks the search to end; a second one ends the program.
class CatchInterrupt {
 public:
  CatchInterrupt() {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~CatchInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

 private:
  struct sigaction before_ {};
};

io::OpenScenario read_question(const Options& options) {
  return study::ScenarioSource(options.scenario).read_open(overrides(options.open));
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  if (text.empty()) return shard;
  int length = 0;
  if (std::sscanf(text.c_str(), "%zu/%zu%n", &shard.index, &shard.of, &length) != 2 ||
      static_cast<std::size_t>(length) != text.size() || shard.index >= shard.of || shard.of > 1'000'000)
    throw ConfigError(
        {{"--shard " + io::printable(text, 40), "", "expected I/N with I from 0 to N - 1, for instance 0/8 to 7/8"}});
  return shard;
}

study::SearchRequest request_of(const Options& options, const io::OpenScenario& question) {
  return {.question = question.question(),
          .space = space_of(options.open),
          .objective = study::parse_objective(options.objective),
          .axes = study::parse_axes(options.pareto),
          .top = static_cast<std::size_t>(options.top),
          .require_fit = options.require_fit};
}

// The file of --write, opened before the work so that a wrong path is said first.
std::unique_ptr<OutputFile> open_winner(const Options& options) {
  return options.write.empty() ? nullptr : std::make_unique<OutputFile>(options.write);
}

// Prints, writes what was asked for, and says whether there is an answer.
int finish(const Options& options, const study::SearchAnswer& answer, const std::unique_ptr<OutputFile>& winner) {
  if (winner && !answer.ranked.empty()) {
    const study::FoundConfiguration& best = answer.ranked.front();
    winner->write(io::read_open_scenario_text(best.text, "the configuration found").text_of(best.scenario, 2) + '\n');
    winner->commit();
  }
  print(options.json ? search_json(answer) : search_text(answer, report::Paint(wants_colour(options.colour))));
  if (!answer.complete) return kInterrupted;
  return answer.ranked.empty() ? 1 : 0;
}

void check_options(const Options& options, const Ranks& ranks) {
  if (!options.shard.empty() && options.out.empty())
    throw ConfigError(
        {{"--shard", "", "expected --out FILE too: `foretoken search merge` reads the files of all shards"}});
  if (!options.shard.empty() && !options.write.empty())
    throw ConfigError({{"--write", "", "not of a shard: `foretoken search merge --write` knows the best of all"}});
  if (!options.shard.empty() && ranks.count() > 1)
    throw ConfigError({{"--shard", "", "not with mpirun, which shares the work by itself"}});
  if (options.resume && options.out.empty())
    throw ConfigError({{"--resume", "", "expected --out FILE too, the file to go on with"}});
}

std::size_t threads_of(const Options& options, const Ranks& ranks) {
  if (options.threads > 0) return static_cast<std::size_t>(options.threads);
  return ranks.count() > 1 ? 1 : std::max(1U, std::thread::hardware_concurrency());
}

// What one process searches: everything, a shard, or its share of the ranks' work.
struct Share {
  Share(const Options& options, const Ranks& ranks)
      : question(read_question(options)),
        request(request_of(options, question)),
        shard(ranks.count() > 1 ? Shard{ranks.rank(), ranks.count()} : parse_shard(options.shard)),
        space(question, request.space),
        winner(ranks.rank() == 0 ? open_winner(options) : nullptr) {
    if (space.candidates().empty()) throw ConfigError(study::why_none_is_valid(question, request.space));
    if (options.out.empty()) return;
    log.emplace(ranks.count() > 1 ? fmt::format("{}.{}", options.out, ranks.rank()) : options.out, request, shard,
                options.resume);
  }

  search::SearchResult search(std::size_t threads, bool shows_progress) {
    search::SearchHooks hooks{.decided = {}, .progress = {}, .stop = &interrupted};
    if (log) {
      hooks.known = log->known();
      hooks.decided = [&](std::span<const search::Outcome> outcomes) { log->append(space, outcomes); };
    }
    ProgressLine line("configurations");
    if (shows_progress)
      hooks.progress = [&](const search::Progress& progress) { line.show(progress.decided, progress.total); };
    const CatchInterrupt catching;
    return run_search(space,
                      {.objective = request.objective,
                       .top = request.top,
                       .axes = request.axes,
                       .require_fit = request.require_fit,
                       .threads = threads,
                       .shard = shard.index,
                       .shards = shard.of},
                      hooks);
  }

  io::OpenScenario question;
  study::SearchRequest request;
  Shard shard;
  search::Space space;
  std::unique_ptr<OutputFile> winner;
  std::optional<SearchLog> log;
};

// Every rank's best, put together on rank 0.
int answer_together(const Options& options, const Share& share, const Ranks& ranks,
                    const search::SearchResult& result) {
  const std::vector<std::string> texts = ranks.gather(ranking_text(share.space, result.ranking, result.complete));
  if (ranks.rank() > 0) return result.complete ? 0 : kInterrupted;
  search::Ranking best(share.space, share.request.objective, share.request.top, share.request.axes);
  bool complete = true;
  for (const std::string& text : texts) complete = add_ranking_text(text, best) && complete;
  if (complete && best.count(search::Verdict::kInvalid) == share.space.candidates().size())
    throw ConfigError(study::why_none_is_valid(share.question, share.request.space));
  const trust::Evidence evidence = io::read_shipped_residuals();
  return finish(options,
                study::answer_of(share.request, share.space, best, complete,
                                 {evidence, options.interval / 100.0, threads_of(options, ranks)}),
                share.winner);
}

int run(const Options& options) {
  const Ranks ranks;
  std::unique_ptr<Share> share;
  std::optional<search::SearchResult> result;
  std::optional<ConfigError> wrong;
  try {
    check_options(options, ranks);
    share = std::make_unique<Share>(options, ranks);
    result = share->search(threads_of(options, ranks), ranks.rank() == 0);
  } catch (const ConfigError& error) {
    wrong = error;
  }
  const std::size_t speaker = ranks.first_where(wrong.has_value());  // one rank complains for all
  if (speaker < ranks.count()) {
    if (speaker == ranks.rank()) print_complaints(*wrong);
    (void)ranks.first_where(false);  // mpirun ends the others as soon as one has failed: not before it has spoken
    return kWrongInput;
  }
  if (options.shard.empty()) return answer_together(options, *share, ranks, *result);
  if (!result->complete) return kInterrupted;
  print_error(fmt::format("shard {} of {} is complete; `foretoken search merge` joins all of them", share->shard.index,
                          share->shard.of));
  return 0;
}

// What is missing before the files are a whole search.
std::vector<Complaint> missing(const std::vector<SearchFile>& files, const std::vector<std::string>& names,
                               const search::Space& space, const std::vector<char>& seen) {
  std::vector<Complaint> complaints;
  const std::size_t shards = files.front().shard.of;
  std::vector<const std::string*> file_of(shards);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = io::printable(names[i]);
    if (files[i].request != files.front().request || files[i].shard.of != shards)
      complaints.push_back({name, "", fmt::format("belongs to another search than {}", io::printable(names[0]))});
    else if (file_of.at(files[i].shard.index) != nullptr)
      complaints.push_back(
          {name, "",
           fmt::format("shard {} is also in {}", files[i].shard.index, io::printable(*file_of[files[i].shard.index]))});
    else
      file_of[files[i].shard.index] = &names[i];
  }
  if (!complaints.empty()) return complaints;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::size_t expected = 0, found = 0;
    for (std::size_t group = shard; group < space.groups().size(); group += shards)
      for (std::size_t c = space.groups()[group].begin; c < space.groups()[group].end; ++c, ++expected)
        found += static_cast<std::size_t>(seen[c]);
    if (file_of[shard] == nullptr)
      complaints.push_back({"foretoken search merge", "", fmt::format("shard {} of {} is missing", shard, shards)});
    else if (found < expected)
      complaints.push_back({io::printable(*file_of[shard]), "",
                            fmt::format("shard {} is not complete ({} of {} configurations); finish it with --resume",
                                        shard, found, expected)});
  }
  return complaints;
}

int merge(const Options& options) {
  const std::unique_ptr<OutputFile> winner = open_winner(options);
  std::vector<SearchFile> files;
  for (const std::string& name : options.files) files.push_back(read_search_file(name));
  if (files.front().request.empty())
    throw ConfigError(
        {{io::printable(options.files.front()), "", "is empty; expected a result file of foretoken search"}});
  const study::SearchRequest request =
      study::request_from_json(files.front().request, io::printable(options.files.front()));
  const io::OpenScenario question = io::read_open_scenario_text(request.question, options.files.front());
  const search::Space space(question, request.space);
  search::Ranking ranking(space, request.objective, request.top, request.axes);
  std::vector<char> seen(space.candidates().size(), 0);
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const search::Outcome& outcome : files[i].outcomes) {
      if (outcome.candidate >= seen.size() || std::exchange(seen[outcome.candidate], 1) != 0)
        throw ConfigError(
            {{io::printable(options.files[i]), "",
              fmt::format("configuration {} is unknown or stands in the files twice", outcome.candidate)}});
      ranking.add(outcome);
    }
  if (std::vector<Complaint> complaints = missing(files, options.files, space, seen); !complaints.empty())
    throw ConfigError(std::move(complaints));
  const trust::Evidence evidence = io::read_shipped_residuals();
  return finish(options, study::answer_of(request, space, ranking, true, {evidence, options.interval / 100.0}), winner);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken search my-question.json                     (whatever it leaves out is searched)\n"
    "  foretoken search gpt3-175b-1024-a100 --free all --fix parallelism.tensor=8\n"
    "  foretoken search gpt3-175b-1024-a100 --free all --gpus 256:4096:x2 --objective cost\n"
    "  foretoken search big.json --out results.jsonl --resume       (goes on after an interruption)\n"
    "  foretoken search big.json --shard 3/8 --out 3.jsonl; foretoken search merge [0-7].jsonl\n\n"
    "Exit status 1: no configuration fits; 130: interrupted, after printing the best so far.\n";

void add_output_options(CLI::App& command, Options& options) {
  command.add_flag("--json", options.json, "JSON instead of text");
  add_interval_option(command, options.interval);
  command.add_option("--write", options.write, "Write the best configuration as a scenario file")->type_name("FILE");
  add_colour_option(command, options.colour);
}

}  // namespace

void add_search(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("search", "The best configurations for a model, a cluster and a batch");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input");
  add_open_options(*command, options->open);
  command->add_option("--objective", options->objective, "What shall be small: step-time, cost, gpus or memory")
      ->type_name("NAME");
  command->add_option("--pareto", options->pareto, "Axes of the Pareto front (step-time,memory)")->type_name("X,Y");
  command->add_option("--top", options->top, "Configurations in the ranked list (10)")
      ->check(whole_number(1, kMostTop))
      ->type_name("N");
  command->add_flag("--require-fit,!--no-require-fit", options->require_fit,
                    "Leave out what does not fit in memory (the default)");
  command->add_option("--threads", options->threads, "Threads (all cores)")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N");
  command->add_option("--out", options->out, "Append the outcome of every configuration, one JSON object a line")
      ->type_name("FILE");
  command->add_flag("--resume", options->resume, "Go on with the file of --out");
  command->add_option("--shard", options->shard, "Only part I of N; needs --out")->type_name("I/N");
  add_output_options(*command, *options);
  command->callback([command, &chosen, options] {
    if (!command->get_subcommands().empty()) return;
    if (options->scenario.empty())
      throw ConfigError({{"foretoken search", "", "expected a scenario: a file, a name or -; or the command merge"}});
    chosen = [options] { return run(*options); };
  });

  const auto merged = std::make_shared<Options>();
  CLI::App* merging = command->add_subcommand("merge", "The answer of a search whose shards ran apart");
  merging->add_option("FILE", merged->files, "The result files of all shards")->required();
  add_output_options(*merging, *merged);
  merging->callback([&chosen, merged] { chosen = [merged] { return merge(*merged); }; });
}

}  // namespace foretoken::tools

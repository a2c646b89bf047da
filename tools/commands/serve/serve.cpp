// The command `foretoken serve`: predicts latency and throughput of inference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/json/parse_json.h"
#include "sim/io/serve/read_service.h"
#include "sim/io/serve/served_residuals.h"
#include "sim/serve/predict.h"
#include "tools/commands.h"
#include "tools/commands/serve/serve_search.h"
#include "tools/options/command_line.h"
#include "tools/options/lines.h"
#include "tools/options/options.h"
#include "tools/options/quantity.h"
#include "tools/options/service_options.h"
#include "tools/output/gzip.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"
#include "tools/text/json_csv.h"
#include "tools/text/serve/serve_text.h"
#include "tools/text/simulate_text.h"

namespace foretoken::tools {
namespace serve_command {
namespace {

constexpr int kMistaken = 2;

struct Options {
  std::vector<std::string> questions, sets;
  std::string ttft, tpot, latency, trace, colour;
  Form form = Form::kText;
  bool require_fit = false, search = false, details = false;
  ServiceOptions stated;
  ServeSearchOptions searched;
};

/// A question: a file or name, a line of standard input, or the options alone.
struct Question {
  std::string name;
  std::optional<std::string> line{};
  bool of_options = false;
};

std::vector<Question> questions_of(const Options& options) {
  std::vector<Question> questions;
  if (options.questions.empty()) questions.push_back({.name = kStatedOrigin, .of_options = true});
  for (const std::string& name : options.questions) {
    if (name != "-") {
      questions.push_back({name});
      continue;
    }
    Lines lines{std::cin, "-", io::kLargestFile};
    while (std::optional<std::string> line = lines.next())
      if (line->find_first_not_of(" \t\r") != std::string::npos)
        questions.push_back({"-:" + std::to_string(lines.number()), std::move(line)});
  }
  return questions;
}

/// Returns the overrides of the options, then those of --set.
std::vector<std::string> all_sets(const Options& options) {
  std::vector<std::string> sets = sets_of(options.stated);
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  return sets;
}

StatedService service_of(const Options& options, const Question& question) {
  StatedService stated;
  if (question.of_options)
    stated = stated_service(options.stated, options.sets);
  else if (question.line)
    stated.service = io::read_service_text(*question.line, question.name, all_sets(options));
  else
    stated.service = io::read_service_file(question.name, all_sets(options));
  serve::Service& service = stated.service;
  if (!options.ttft.empty()) service.limits.ttft_s = parse_seconds("--ttft", options.ttft);
  if (!options.tpot.empty()) service.limits.tpot_s = parse_seconds("--tpot", options.tpot);
  if (!options.latency.empty()) service.limits.latency_s = parse_seconds("--latency", options.latency);
  return stated;
}

void write_trace(const Options& options, const serve::Service& service, const serve::Prediction& prediction) {
  OutputFile file(options.trace);
  std::optional<Gzip> gzip;
  if (is_gzip_name(options.trace)) gzip.emplace();
  write_serve_trace(service, prediction, [&](std::string_view text) {
    if (gzip)
      file.write(gzip->add(text));
    else
      file.write(text);
  });
  if (gzip) file.write(gzip->finish());
  file.finish();
  file.commit();
}

const trust::ServedEvidence& shipped_evidence() {
  static const trust::ServedEvidence evidence = io::read_shipped_served_residuals();
  return evidence;
}

/// Returns the question as words of a command.
std::vector<std::string> words_of(const Options& options, const Question& question) {
  std::vector<std::string> words = tools::words_of(options.stated);
  if (!question.of_options) words.insert(words.begin(), question.line ? "-" : question.name);
  return words;
}

/// Returns options of a command, each with its value, as far as they fit; "..." stands for the others.
std::string shortened(const std::vector<std::string>& words) {
  constexpr std::size_t kLongest = 68;  // "foretoken serve ... --details  every number" is narrower than 100 columns
  std::string text;
  for (const std::string& unit : with_values(words)) {
    if (text.size() + unit.size() > kLongest) return text + " ...";
    text += (text.empty() ? "" : " ") + unit;
  }
  return text;
}

/// Returns the question as one writes it again. "..." stands for many options and overrides.
std::string repeated(const Options& options, const Question& question) {
  constexpr std::size_t kLongest = 40;
  if (question.of_options) return shortened(tools::words_of(options.stated));
  std::string words;
  for (const std::string& word : tools::words_of(options.stated)) words += ' ' + shell_word(word);
  for (const std::string& set : options.sets) words += " --set " + shell_word(set);
  for (const auto& [option, limit] :
       {std::pair("--ttft", &options.ttft), {"--tpot", &options.tpot}, {"--latency", &options.latency}})
    if (!limit->empty()) words += fmt::format(" {} {}", option, shell_word(*limit));
  const std::string name = shell_word(question.name);
  return name.size() + words.size() <= kLongest ? name + words : name + (words.empty() ? "" : " ...");
}

/// Returns the commands to run next. Standard input and lists of questions cannot be repeated.
std::vector<report::Hint> hints_for(const Options& options, const Question& question, bool fits) {
  if (question.line || options.questions.size() > 1) return {};
  const std::string asked = repeated(options, question);
  return {{fmt::format("foretoken serve {} --search", asked), fits ? "better configurations" : "what fits"},
          {fmt::format("foretoken serve {} --details", asked), "every number and assumption"}};
}

std::string answer_text(const Options& options, const Question& question, const serve::Service& service,
                        const serve::Prediction& prediction) {
  const study::ServiceTrust trusted =
      prediction.fits ? study::trust_of(service, prediction, shipped_evidence()) : study::ServiceTrust();
  if (options.form == Form::kText)
    return serve_text({service, prediction, trusted},
                      {.details = options.details, .hints = hints_for(options, question, prediction.fits)},
                      page_paint(options.colour));
  const std::string json = serve_json(service, prediction, trusted);
  return options.form == Form::kJson ? json
                                     : csv_of(nlohmann::ordered_json::array({nlohmann::ordered_json::parse(json)}));
}

/// Answers one question. Returns the exit status that it asks for.
int answer(const Options& options, const Question& question) {
  try {
    const auto [service, varied] = service_of(options, question);
    refuse_same_files(std::array{NamedFile{"--trace", options.trace}, NamedFile{"--chart", options.searched.chart}},
                      service.files);
    if (options.search)
      return search_services(service, options.searched, options.form, options.colour, words_of(options, question),
                             options.sets, varied);
    ProgressLine line;
    const serve::Prediction prediction = serve::predict(service, !options.trace.empty());
    line.clear();
    if (!options.trace.empty() && !prediction.fits)
      print_error(fmt::format("{} is not written: the service does not fit, so nothing runs", options.trace));
    else if (!options.trace.empty())
      write_trace(options, service, prediction);
    print(answer_text(options, question, service, prediction));
    return options.require_fit && !prediction.fits ? kRefused : 0;
  } catch (const ConfigError& error) {
    std::vector<Complaint> complaints = as_given(error.complaints(), options.stated);
    for (Complaint& complaint : complaints)
      if (complaint.file.empty()) complaint.file = question.name;
    if (options.form == Form::kJson) print(complaints_json(ConfigError(complaints)));
    print_complaints(ConfigError(complaints));
    return kMistaken;
  }
}

/// Moves what a search would vary, --gpus, --concurrency and --batch, to the question where nothing is searched.
/// Degrees that are stated are held in a search.
Options settled(Options options) {
  ServiceOptions& stated = options.stated;
  if (options.search) {
    for (std::string& degree : fixed_degrees_of(stated)) options.searched.fixes.push_back(std::move(degree));
    stated.tensor = stated.pipeline = stated.expert = "";
    return options;
  }
  stated.gpus = options.searched.gpus;
  stated.concurrency = options.searched.concurrency;
  stated.batch = options.searched.batch;
  return options;
}

/// A search runs many services. What concerns one of them is asked of the command that the search prints.
void refuse_beside_search(const Options& options) {
  if (!options.search) return;
  const auto refuse = [](const char* option, const char* shown) {
    throw ConfigError({{option, "",
                        fmt::format("a search shows no {} of one service; run the command that it prints "
                                    "with {}",
                                    shown, option)}});
  };
  if (options.details) refuse("--details", "details");
  if (!options.trace.empty()) refuse("--trace", "trace");
}

int run(const Options& given) {
  refuse_beside_search(given);
  const Options options = settled(given);
  const std::vector<Question> questions = questions_of(options);
  if (questions.empty()) throw ConfigError({{"-", "", "standard input has no question; expected one a line"}});
  const char* const single = !options.trace.empty()       ? "--trace"
                             : options.search             ? "--search"
                             : options.form == Form::kCsv ? "--csv"
                                                          : nullptr;
  if (single != nullptr && questions.size() != 1)
    throw ConfigError({{"foretoken serve", "", fmt::format("{} takes one question", single)}});
  int status = 0;
  for (const Question& question : questions) status = std::max(status, answer(options, question));
  return status;
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken serve --model llama-3-8b --cluster dgx-h100-ndr --rate 4\n"
    "  foretoken serve llama-3-70b-8-h100\n"
    "  foretoken serve llama-3-70b-8-h100 --set requests.rate_per_s=12 --ttft 500ms --tpot 30ms --json\n"
    "  foretoken serve gpt3-175b-8-a100 --set requests.batch=32\n"
    "  foretoken serve mine.json --trace serve.json.gz\n"
    "  foretoken serve llama-3-70b-chat-8-h100 --search --ttft 500ms --tpot 30ms\n"
    "  foretoken serve gpt3-20b-a100 --search --gpus 1:16:x2 --latency 2s --chart front.svg\n\n"
    "Exit status 1: it does not fit, with --require-fit; a search found nothing within the limits.\n";

}  // namespace
}  // namespace serve_command

void add_serve(CLI::App& program, Action& chosen) {
  using namespace serve_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("serve", "Predict latency and throughput of inference");
  command->footer(kExamples);
  command->add_option("QUESTION", options->questions, "Question files or names; - reads one a line");
  add_service_options(*command, options->stated);
  command->add_option("--set", options->sets, "Override a key: --set requests.rate_per_s=4")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_option("--ttft", options->ttft, "Count goodput within this time to the first token")->type_name("TIME");
  command->add_option("--tpot", options->tpot, "Count goodput within this time per output token")->type_name("TIME");
  command->add_option("--trace", options->trace, "Write passes, batch, queue and cache as a Chrome trace")
      ->type_name("FILE");
  command->add_option("--latency", options->latency, "Count goodput within this time per request")->type_name("TIME");
  CLI::Option* search =
      command->add_flag("--search", options->search, "Search degrees, users or batches, and pools; print the best");
  add_serve_search_options(*command, search, options->searched);
  add_form_options(*command, options->form);
  command->add_flag("--details", options->details, "Print every number, the question and assumptions");
  command->add_flag("--require-fit", options->require_fit, "Exit with status 1 when it does not fit");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools

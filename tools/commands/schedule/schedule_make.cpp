// The command `foretoken schedule make`: makes an order of passes for given times and a memory limit.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/des/time.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/schedule/csv/write_csv.h"
#include "sim/schedule/made/make_schedule.h"
#include "sim/schedule/op_text.h"
#include "tools/commands/schedule/schedule_commands.h"
#include "tools/options/options.h"
#include "tools/output/output.h"
#include "tools/text/runs.h"

namespace foretoken::tools {
namespace schedule_make_command {
namespace {

using report::Paint;
using Json = nlohmann::ordered_json;

constexpr int kMostStages = 512, kMostMicrobatches = 1 << 14;
constexpr std::int64_t kMostPasses = 400'000;
constexpr double kLongestMs = 1e6;

struct Options {
  int stages = 1, microbatches = 1;
  std::vector<double> forward_ms{1}, input_ms{1}, weight_ms{1};
  double message_ms = 0, for_weights = 0.5;
  std::vector<double> limit;
  std::string csv, colour;
  bool span = false, json = false, plain = false;
};

ConfigError wrong(std::string message) { return ConfigError({{"foretoken schedule make", "", std::move(message)}}); }

double of_stage(const char* option, const std::vector<double>& values, int stages, Stage stage) {
  if (values.size() == 1) return values.front();
  if (values.size() == static_cast<std::size_t>(stages)) return values[stage.index()];
  throw wrong(fmt::format("{}: expected one value, or {} (one a stage), found {}", option, stages, values.size()));
}

/// Checks that all passes and messages in a row fit the clock: no order of them takes longer.
void check_length(const Options& options) {
  constexpr double kMostDays = 100, kMsPerDay = 86400e3;  // whole picoseconds in 64 bits hold 106 days
  double ms = 2 * options.message_ms * options.stages;
  for (const Stage stage : ids<Stage>(options.stages))
    ms += of_stage("--forward", options.forward_ms, options.stages, stage) +
          of_stage("--backward-input", options.input_ms, options.stages, stage) +
          of_stage("--backward-weight", options.weight_ms, options.stages, stage);
  const double days = ms * options.microbatches / kMsPerDay;
  if (days > kMostDays)
    throw wrong(
        fmt::format("expected at most {} days of passes and messages in all, found {:.3g}; check --forward, "
                    "--backward-input, --backward-weight and --comm, in milliseconds",
                    kMostDays, days));
}

schedule::MakeQuestion question_of(const Options& options) {
  if (std::int64_t{3} * options.stages * options.microbatches > kMostPasses)
    throw wrong(fmt::format("expected at most {} passes in all, found {}; try fewer micro-batches", kMostPasses,
                            std::int64_t{3} * options.stages * options.microbatches));
  schedule::MakeQuestion question{.microbatches = options.microbatches, .times = {}, .limits = {}};
  if (options.span) question.shorten = schedule::Shorten::kLongestSpan;
  const auto ps = [](double ms) { return des::to_duration(Seconds(1e-3 * ms)).ps; };
  question.times.message = ps(options.message_ms);
  const std::vector<double> limits =
      options.limit.empty() ? std::vector<double>{static_cast<double>(options.stages)} : options.limit;
  for (const Stage stage : ids<Stage>(options.stages)) {
    question.times.stages.push_back({ps(of_stage("--forward", options.forward_ms, options.stages, stage)),
                                     ps(of_stage("--backward-input", options.input_ms, options.stages, stage)),
                                     ps(of_stage("--backward-weight", options.weight_ms, options.stages, stage))});
    const double limit = of_stage("--limit", limits, options.stages, stage);
    if (limit < std::max(1.0, options.for_weights))
      throw wrong(fmt::format("--limit: expected at least the activations of one micro-batch ({}), found {}; try {}",
                              std::max(1.0, options.for_weights), limit, options.stages));
    question.limits.push_back({1, options.for_weights, limit});
  }
  check_length(options);
  return question;
}

/// The bubbles of a made schedule: of the whole pipeline, and of the longest stage.
struct Bubbles {
  double makespan = 0, span = 0;
};

Bubbles bubbles_of(const schedule::MakeQuestion& question, const schedule::MadeSchedule& made) {
  std::int64_t work = 0;
  for (const schedule::StageTimes& times : question.times.stages)
    work = std::max(work, (times.forward + times.backward()) * question.microbatches);
  const auto share = [&](std::int64_t whole) {
    return whole == 0 ? 0 : 1 - static_cast<double>(work) / static_cast<double>(whole);
  };
  return {share(made.times.makespan), share(made.times.longest_span)};
}

std::vector<double> held_of(const schedule::MakeQuestion& question, const schedule::MadeSchedule& made) {
  std::vector<double> held;
  for (const Stage stage : made.program.stages.ids())
    held.push_back(std::round(1000 * most_held(made.program.stages[stage], question.limits[stage])) / 1000);
  return held;
}

std::string text_of(const Options& options, const schedule::MakeQuestion& question, const schedule::MadeSchedule& made,
                    const Paint& paint) {
  const auto seconds = [](std::int64_t ps) { return report::time_text(des::to_seconds(des::Duration{ps})); };
  const Bubbles bubbles = bubbles_of(question, made);
  std::string text = paint(report::Ink::kBold, made.origin) +
                     fmt::format(": {}, {}\n", report::counted(options.stages, "stage"),
                                 report::counted(options.microbatches, "micro-batch", "micro-batches"));
  if (made.origin != "made") text += paint.paragraph("  ", "no order was found that is shorter within the limits");
  text += paint.paragraph("  ", fmt::format("makespan {}, bubble {} of it; longest stage {}, bubble {} of it",
                                            seconds(made.times.makespan), report::percent(bubbles.makespan),
                                            seconds(made.times.longest_span), report::percent(bubbles.span)));
  text +=
      paint.paragraph("  micro-batches of activations held at most, by stage: ", runs_text(held_of(question, made)));
  text += '\n' + paint(report::Ink::kBold, "Order") + "  " +
          paint(report::Ink::kDim, schedule::letters_text(made.program) + ", micro-batch") + '\n';
  for (const Stage stage : made.program.stages.ids())
    text += paint.paragraph(fmt::format("  stage {:<3} ", stage.number()),
                            schedule::to_text(made.program.stages[stage], 1));
  return text;
}

std::string json_of(const schedule::MakeQuestion& question, const schedule::MadeSchedule& made) {
  Json orders = Json::array();
  for (const schedule::StageProgram& ops : made.program.stages) {
    Json& of_stage = orders.emplace_back(Json::array());
    for (const schedule::StageOp& op : ops) of_stage.push_back(schedule::to_text(op, 1));
  }
  const Bubbles bubbles = bubbles_of(question, made);
  const Json json = {{"schedule", made.origin},
                     {"stages", question.times.stages.size()},
                     {"microbatches", question.microbatches},
                     {"makespan_s", static_cast<double>(made.times.makespan) * 1e-12},
                     {"longest_span_s", static_cast<double>(made.times.longest_span) * 1e-12},
                     {"bubble_fraction_of_makespan", bubbles.makespan},
                     {"bubble_fraction_of_span", bubbles.span},
                     {"peak_held", held_of(question, made)},
                     {"orders", std::move(orders)}};
  return json.dump() + '\n';
}

int make(const Options& options) {
  const schedule::MakeQuestion question = question_of(options);
  const schedule::MadeSchedule made = schedule::make_schedule(question);
  if (!options.csv.empty()) write_file(options.csv, schedule::to_csv(made.program));
  std::string plain;
  for (const schedule::StageProgram& ops : made.program.stages) plain += schedule::to_text(ops, 1) + '\n';
  print(options.json    ? json_of(question, made)
        : options.plain ? plain
                        : text_of(options, question, made, page_paint(options.colour)));
  return 0;
}

void add_options(CLI::App& command, Options& options) {
  command.add_option("--stages", options.stages, "Pipeline stages, of one chunk each")
      ->required()
      ->check(whole_number(1, kMostStages))
      ->type_name("P");
  command.add_option("--microbatches", options.microbatches, "Micro-batches of one step")
      ->required()
      ->check(whole_number(1, kMostMicrobatches))
      ->type_name("M");
  const auto list = [&](const char* name, std::vector<double>& values, const char* what, double most) {
    return command.add_option(name, values, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(number_between(0, most));
  };
  list("--forward", options.forward_ms, "Milliseconds of a forward pass (1); or P values, one a stage", kLongestMs)
      ->type_name("MS");
  list("--backward-input", options.input_ms, "Milliseconds of a backward pass for input (1), or P values", kLongestMs)
      ->type_name("MS");
  list("--backward-weight", options.weight_ms, "Milliseconds of a backward pass for weight (1), or P values",
       kLongestMs)
      ->type_name("MS");
  command.add_option("--comm", options.message_ms, "Milliseconds of a message between stages (0)")
      ->check(number_between(0, kLongestMs))
      ->type_name("MS");
  list("--limit", options.limit, "Micro-batches of activations that a stage may hold (P, as 1F1B), or P values", 1e6)
      ->type_name("N");
  command
      .add_option("--kept-for-weights", options.for_weights,
                  "Part of them that stays until the backward pass for weight (0.5)")
      ->check(number_between(0, 2))
      ->type_name("PART");
  command.add_flag("--span", options.span, "Shorten the longest stage instead of the whole pipeline");
}

}  // namespace
}  // namespace schedule_make_command

void add_schedule_make(CLI::App& schedule, Action& chosen) {
  using namespace schedule_make_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = schedule.add_subcommand(
      "make", "Make an order of forward and split backward passes for given times, within a memory limit");
  command->footer(
      "Examples:\n"
      "  foretoken schedule make --stages 8 --microbatches 32 --limit 16 --span\n"
      "  foretoken schedule make --stages 4 --microbatches 16 --forward 10 --backward-input 11 --backward-weight 8 "
      "--comm 1 --csv made.csv\n"
      "A scenario takes the file as \"schedule\": {\"file\": \"made.csv\"}.\n");
  add_options(*command, *options);
  command->add_flag("--json", options->json, "Print JSON: orders and figures");
  command->add_flag("--plain", options->plain, "Print only the orders, one stage a line");
  command->add_option("--csv", options->csv, "Write the orders in PyTorch's CSV format")->type_name("FILE");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return make(*options); }; });
}

}  // namespace foretoken::tools

// The command `foretoken plan`: compares clusters and numbers of GPUs by the time and cost of a training.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <thread>

#include "tools/commands.h"
#include "tools/options/asked_source.h"
#include "tools/options/command_line.h"
#include "tools/options/open_options.h"
#include "tools/options/options.h"
#include "tools/options/quantity.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/plan_text.h"

namespace foretoken::tools {
namespace plan_command {
namespace {

struct Options {
  OpenOptions open;
  QuestionOptions asked;
  std::string scenario, tokens, deadline, budget, checkpoint_write, restart, write, colour;
  std::vector<std::string> clusters;
  double price = 0, mtbf = 0, storage = 0, pue = 0;
  int threads = 0, interval = 90;
  Form form = Form::kText;
};

study::PlanQuestion question_of(const Options& options) {
  const AskedSource asked = asked_source(options.scenario, options.asked, options.open, "foretoken plan");
  study::PlanQuestion question{.scenario = asked.source,
                               .sets = asked.sets,
                               .clusters = {},
                               .space = space_of(options.open, asked.stated_zero_stage),
                               .assumptions = {},
                               .deadline_days = {},
                               .budget = {},
                               .level = options.interval / 100.0,
                               .threads = std::max<std::size_t>(1, std::thread::hardware_concurrency())};
  for (const std::string& cluster : options.clusters)
    if (std::find(question.clusters.begin(), question.clusters.end(), cluster) == question.clusters.end())
      question.clusters.push_back(cluster);
  if (options.threads > 0) question.threads = static_cast<std::size_t>(options.threads);
  study::PlanAssumptions& assumed = question.assumptions;
  if (!options.tokens.empty()) assumed.tokens = parse_count("--tokens", options.tokens);
  if (!options.deadline.empty()) question.deadline_days = parse_seconds("--deadline", options.deadline) / 86400;
  if (!options.budget.empty()) question.budget = parse_count("--budget", options.budget);
  if (!options.checkpoint_write.empty())
    assumed.checkpoint_write_s = parse_seconds("--checkpoint-write", options.checkpoint_write);
  if (!options.restart.empty()) assumed.restart_s = parse_seconds("--restart", options.restart);
  if (options.price > 0) assumed.price_per_gpu_hour = options.price;
  if (options.mtbf > 0) assumed.mtbf_hours_per_gpu = options.mtbf;
  if (options.storage > 0) assumed.checkpoint_gb_per_s_per_gpu = options.storage;
  if (options.pue > 0) assumed.pue = options.pue;
  return question;
}

int run(const Options& options, const std::string& command) {
  LongWork work("rows");
  study::Plan plan = study::make_plan(question_of(options), work.watch());
  work.end();
  plan.command = command;
  plan.version = std::string(version());
  print(options.form == Form::kText  ? plan_text(plan, page_paint(options.colour))
        : options.form == Form::kCsv ? plan_csv(plan)
                                     : work.marked(plan_json(plan)));
  return work.status(plan.smallest ? 0 : 1);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken plan gpt3-175b-1024-a100 --free all --tokens 300B --gpus 256:4096:x2 --deadline 30d\n"
    "  foretoken plan --model qwen3-32b --cluster dgx-h100-ndr --gpus 64,128 --tokens 1T\n"
    "  foretoken plan my.json --tokens 2T --clusters dgx-a100-80gb-hdr,dgx-h100-ndr --gpus 512,1024\n"
    "  foretoken plan my.json --tokens 300B --budget 2M --price 2 --json\n\n"
    "A row meets deadline and budget with a chance of one half or more; P90 is for more certainty.\nExit status 1: no "
    "row meets deadline and budget.\n";

void add_assumptions(CLI::App& command, Options& options) {
  const auto number = [&](const char* name, double& value, double low, double high, const char* about,
                          const char* type) {
    command.add_option(name, value, about)->check(number_between(low, high))->type_name(type);
  };
  number("--price", options.price, 1e-6, 1e6, "Price of a GPU hour, instead of the cluster's", "PRICE");
  number("--mtbf", options.mtbf, 1e-3, 1e12, "Hours between interruptions of one GPU (50000)", "HOURS");
  number("--storage", options.storage, 1e-6, 1e6, "GB/s at which a GPU writes a checkpoint (0.122)", "GB/S");
  number("--pue", options.pue, 1, 10, "Energy of the site over the energy of the GPUs (1.1)", "PUE");
  command
      .add_option("--checkpoint-write", options.checkpoint_write,
                  "Time to write a checkpoint, instead of its size over --storage")
      ->type_name("TIME");
  command.add_option("--restart", options.restart, "Time from an interruption until training goes on (10m)")
      ->type_name("TIME");
}

}  // namespace
}  // namespace plan_command

void add_plan(CLI::App& program, Action& chosen) {
  using namespace plan_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("plan", "Choose a cluster and a number of GPUs by time and cost");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input");
  add_question_options(*command, options->asked);
  command->add_option("--tokens", options->tokens, "Train on this many tokens: 300B, 2T")->type_name("N");
  command->add_option("--deadline", options->deadline, "Finish within this time: 30d, 6w")->type_name("TIME");
  command->add_option("--budget", options->budget, "Spend at most this much: 2M")->type_name("N");
  command->add_option("--clusters", options->clusters, "Try these clusters instead of the scenario's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  add_open_options(*command, options->open);
  add_assumptions(*command, *options);
  command->add_option("--threads", options->threads, "Number of threads (all cores)")
      ->check(whole_number(1, 256))
      ->type_name("N");
  add_interval_option(*command, options->interval);
  add_form_options(*command, options->form);
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options, command] {
    chosen = [options, command] {
      return with_given_names(options->asked, options->open, [&] { return run(*options, command_line(*command)); });
    };
  });
}

}  // namespace foretoken::tools

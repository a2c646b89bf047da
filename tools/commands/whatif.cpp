// The command `foretoken whatif`: tries other values of a scenario's keys, and better and worse hardware.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/scenario/read_residuals.h"
#include "sim/io/serve/read_service.h"
#include "sim/study/serve/vary_service.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/long_work.h"
#include "tools/output/output.h"
#include "tools/text/serve/vary_service_text.h"
#include "tools/text/whatif_text.h"

namespace foretoken::tools {
namespace whatif_command {
namespace {

constexpr std::size_t kMostCombinations = 10000;
constexpr int kMostThreads = 256;
constexpr double kUsualPart = 0.1;

struct Options {
  std::string scenario, colour;
  std::vector<std::string> vary, sets, variables;
  std::optional<double> part;  // of --by
  Form form = Form::kText;
  bool tornado = false;
  int threads = 1;
};

ConfigError refusal(std::string message) { return ConfigError({{"foretoken whatif", "", std::move(message)}}); }

std::vector<study::Varied> varied_keys(const std::vector<std::string>& texts) {
  std::vector<study::Varied> keys;
  std::size_t count = 1;
  for (const std::string& text : texts) {
    keys.push_back(study::parse_varied(text));
    for (std::size_t i = 0; i + 1 < keys.size(); ++i)
      if (keys[i].key == keys.back().key)
        throw refusal(fmt::format("--vary names {} twice; give all its values at once", keys[i].key));
    count *= keys.back().values.size();
    if (count > kMostCombinations)
      throw refusal(fmt::format("expected at most {} combinations of values", kMostCombinations));
  }
  return keys;
}

// Varies a question about serving.
int run_service(const Options& options) {
  if (options.tornado) throw refusal("--tornado expects a scenario of training; this is a question about serving");
  LongWork work("combinations");
  const study::VariedService varied = study::vary_service({.service = options.scenario,
                                                           .sets = options.sets,
                                                           .keys = varied_keys(options.vary),
                                                           .threads = options.threads},
                                                          work.watch());
  work.end();
  print(options.form == Form::kJson  ? work.marked(vary_service_json(varied))
        : options.form == Form::kCsv ? vary_service_csv(varied)
                                     : vary_service_text(varied, page_paint(options.colour)));
  return work.status(0);
}

int run(const Options& options) {
  if (options.vary.empty() && !options.tornado)
    throw refusal("expected --vary KEY=VALUE,VALUE,... or --tornado, for instance --vary batch.micro=1,2,4");
  if (options.part && !options.tornado)
    throw refusal("--by changes the properties of --tornado; add it, or leave --by out");
  if (options.scenario != "-" && io::is_service(options.scenario)) return run_service(options);
  LongWork work("combinations and properties");
  const study::WhatIf whatif = study::what_if(
      {.scenario = scenario_source(options.scenario, script_variables(options.variables, "foretoken whatif")),
       .sets = options.sets,
       .keys = varied_keys(options.vary),
       .part = options.part.value_or(kUsualPart),
       .tornado = options.tornado,
       .threads = options.threads},
      io::read_shipped_residuals(), work.watch());
  work.end();
  print(options.form == Form::kJson  ? work.marked(whatif_json(whatif))
        : options.form == Form::kCsv ? (options.vary.empty() ? tornado_csv(whatif) : whatif_csv(whatif))
                                     : whatif_text(whatif, page_paint(options.colour)));
  return work.status(0);
}

constexpr const char* kExamples =
    "Examples:\n"
    "  foretoken whatif gpt3-175b-1024-a100 --vary cluster.node.nics.gb_per_s=12.5,25,50,100\n"
    "  foretoken whatif gpt3-175b-1024-a100 --vary batch.micro=1,2,4 --vary recompute=none,selective,full\n"
    "  foretoken whatif gpt3-175b-1024-a100 --vary cluster=selene,dgx-a100-80gb-4hdr --csv\n"
    "  foretoken whatif llama-3-70b-1024-h100 --tornado\n"
    "  foretoken whatif llama-3-70b-chat-8-h100 --vary requests.concurrency=16,64,256   (a question of serve)\n\n"
    "Several --vary try every combination. An impossible combination is shown with the reason.\n";

}  // namespace
}  // namespace whatif_command

void add_whatif(CLI::App& program, Action& chosen) {
  using namespace whatif_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("whatif", "Try other values of a scenario's keys");
  command->footer(kExamples);
  command->add_option("SCENARIO", options->scenario, "Scenario file or name; - reads it from standard input")
      ->required();
  command->add_option("--vary", options->vary, "Try these values of a key; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE,...");
  command->add_flag("--tornado", options->tornado,
                    "Make each hardware property smaller and larger, and show the change");
  command->add_option("--by", options->part, "Fraction by which the tornado changes a property (0.1: 10 %)")
      ->check(number_between(0.001, 0.9))
      ->type_name("PART");
  command->add_option("--set", options->sets, "Override a key of the scenario; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  add_form_options(*command, options->form);
  command->add_option("--threads", options->threads, "Simulate this many combinations at the same time")
      ->check(whole_number(1, kMostThreads))
      ->type_name("N");
  add_colour_option(*command, options->colour);
  command->callback([&chosen, options] { chosen = [options] { return run(*options); }; });
}

}  // namespace foretoken::tools

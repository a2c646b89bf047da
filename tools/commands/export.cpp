// The command `foretoken export`: writes a scenario as a launch file of a training framework.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/io/export/launch/write_launch.h"
#include "sim/io/scenario/read_scenario.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace export_command {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExporter = "foretoken export";

struct Options {
  std::string format, scenario, out;
  std::vector<std::string> sets, variables, allow;
  bool json = false;
};

bool allowed(const Options& options, const std::string& key) {
  return std::ranges::any_of(options.allow, [&](const std::string& one) { return one == "all" || one == key; });
}

std::string json_of_export(const io::LaunchFormat& format, const io::ExportedLaunch& exported, bool whole) {
  Json lost = Json::array(), unread = exported.unread;
  for (const io::Difference& one : exported.lost)
    lost.push_back({{"key", one.key}, {"scenario", one.before}, {"launch", one.after}});
  return Json{{"format", format.name},   {"framework", format.framework},   {"complete", whole},
              {"lost", std::move(lost)}, {"unreadable", std::move(unread)}, {"text", exported.text}}
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

// A misspelt key would change nothing, and nobody would know.
void check_allowed(const Options& options) {
  std::vector<std::string> known = io::fact_keys();
  known.emplace_back("all");
  std::vector<Complaint> complaints;
  for (const std::string& key : options.allow)
    if (std::ranges::find(known, key) == known.end())
      complaints.push_back(
          {kExporter, "",
           fmt::format("--allow: expected a fact that foretoken export names, such as attention, or all; found {}{}",
                       in_quotes(key), did_you_mean(key, known))});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
}

// One line for each fact that the file cannot say.
std::string losses_text(const io::LaunchFormat& format, const Options& options, const io::ExportedLaunch& exported) {
  std::string text;
  for (const io::Difference& one : exported.lost)
    if (!allowed(options, one.key))
      text +=
          fmt::format("{} cannot say {} = {}; read back it is {}\n", format.framework, one.key, one.before, one.after);
  for (const std::string& one : exported.unread) text += fmt::format("{} cannot say this: {}\n", format.framework, one);
  return text;
}

// Names the options that would write the file.
std::string way_on(const Options& options, const io::ExportedLaunch& exported) {
  if (!exported.unread.empty()) return "Nothing is written.\n";
  std::string text = "Nothing is written; go on without these facts with";
  for (const io::Difference& one : exported.lost)
    if (!allowed(options, one.key)) text += " --allow " + one.key;
  return text + '\n';
}

int run_export(const Options& options) {
  check_allowed(options);
  const io::LaunchFormat& format = *io::launch_format_named(options.format);
  const study::ScenarioSource source =
      scenario_source(options.scenario, script_variables(options.variables, "foretoken export"));
  refuse_same_files(std::array{NamedFile{"--out", options.out}}, std::array{std::filesystem::path(options.scenario)});
  const job::Made made = source.read(options.sets);
  const nlohmann::json scenario = nlohmann::json::parse(source.merged(options.sets));
  const io::ExportedLaunch exported = io::export_launch(format, made.job, scenario);
  const std::string losses = losses_text(format, options, exported);
  const bool whole = losses.empty();
  if (whole && !options.out.empty()) write_file(options.out, exported.text);
  if (options.json)
    print(json_of_export(format, exported, whole));
  else if (!whole)
    print(losses + way_on(options, exported));
  else if (options.out.empty())
    print(exported.text);
  return whole ? 0 : kRefused;
}

constexpr const char* kExamples =
    "The file is read back and compared. Exit status: 0 it says everything; 1 it cannot, and each fact is named.\n"
    "Lines \"# foretoken:\" hold the machine, which launches do not state; foretoken import reads them.\n\nExamples:\n"
    "  foretoken export megatron llama-3-70b-256-h100 --out train.sh\n"
    "  foretoken export bridge my.json --set parallelism.tensor=8\n"
    "  foretoken export nanotron my.json --allow attention --json\n";

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const io::LaunchFormat& format : io::launch_formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace
}  // namespace export_command

void add_export(CLI::App& program, Action& chosen) {
  using namespace export_command;
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("export", "Write a scenario as a launch file of a training framework");
  command->footer(kExamples);
  command->add_option("FORMAT", options->format, fmt::format("The framework: {}", fmt::join(format_names(), ", ")))
      ->required()
      ->check(one_of(format_names()));
  command->add_option("SCENARIO", options->scenario, "Scenario file or name, or a launch file; - reads standard input")
      ->required();
  command->add_option("--set", options->sets, "Override a key of the scenario: KEY=VALUE")->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  command->add_option("--allow", options->allow, "Go on without this fact; all: without any")->type_name("KEY");
  command->add_option("-o,--out", options->out, "Write the launch here")->type_name("FILE");
  command->add_flag("--json", options->json, "Print the launch and what it cannot say as JSON");
  command->callback([&chosen, options] { chosen = [options] { return run_export(*options); }; });
}

}  // namespace foretoken::tools

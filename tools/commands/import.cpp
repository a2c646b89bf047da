// The command `foretoken import`: makes a scenario of the launch files of a training framework.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/io/import/launch/read_launch.h"
#include "sim/io/scenario/read_scenario.h"
#include "tools/commands.h"
#include "tools/options/options.h"
#include "tools/options/question_options.h"
#include "tools/options/scenario_argument.h"
#include "tools/output/output.h"
#include "tools/text/import_text.h"

namespace foretoken::tools {
namespace import_command {
namespace {

constexpr const char* kAsker = "foretoken import";

struct Options {
  QuestionOptions asked;
  std::vector<std::string> files, sets, variables, allow, passed;
  std::string out, row;
  bool json = false;
};

io::launch::Launch launch_of(const Options& options) {
  io::launch::Launch launch;
  launch.files.assign(options.files.begin(), options.files.end());
  launch.words = options.passed;
  launch.variables = script_variables(options.variables, kAsker);
  for (const std::string& set : sets_of(options.asked))
    if (set != "parallelism.data=null") launch.sets.push_back(set);  // an import states no such degree
  launch.sets.insert(launch.sets.end(), options.sets.begin(), options.sets.end());
  launch.row = options.row;
  launch.allow = options.allow;
  return launch;
}

// A GPU may have no laws of the kernel that the runtime has by default: sim/job/rules/software.cpp.
void note_attention(const job::Job& job, io::launch::Report& report) {
  const job::AttentionChoice usual = job.runtime.default_attention;
  if (report.has("attention") || job.attention != usual.kind || job.flash_kernel == usual.kernel) return;
  report.assume("attention", std::string(model::name_of(job.attention, job.flash_kernel)),
                fmt::format("the GPU has no laws of the runtime's {}, and PyTorch takes another kernel there",
                            model::name_of(usual.kind, usual.kernel)));
}

// Checks the scenario by reading it. Rules that it breaks are refused like a flag.
void check(io::launch::Report& report) {
  if (!report.asked.empty() || report.unread) return;
  try {
    note_attention(io::read_scenario_text(report.scenario.dump(), kAsker).job, report);
  } catch (const ConfigError& error) {
    for (const Complaint& complaint : error.complaints())
      report.refuse(complaint.pointer.empty() ? "the scenario" : complaint.pointer, complaint.message);
  }
}

// A misspelt setting would change nothing, and nobody would know.
void check_allowed(const std::vector<std::string>& allow, const io::launch::Report& report) {
  std::vector<std::string> refused = {"all"};
  for (const io::launch::Refused& one : report.refused)
    refused.push_back(one.setting.starts_with("--") ? one.setting.substr(2) : one.setting);
  std::vector<Complaint> complaints;
  for (const std::string& name : allow)
    if (name != "all" && !report.names(name))
      complaints.push_back({kAsker, "",
                            fmt::format("--allow: expected a setting of the file that is refused; found {}{}",
                                        in_quotes(name), did_you_mean(name, refused))});
  if (!complaints.empty()) throw ConfigError(std::move(complaints));
}

int run(const Options& options) {
  if (options.files.empty() && options.passed.empty())
    throw ConfigError({{kAsker, "", "FILE is required, or arguments behind --; try foretoken import --help"}});
  const std::vector<std::filesystem::path> inputs(options.files.begin(), options.files.end());
  refuse_same_files(std::array{NamedFile{"--out", options.out}}, inputs);
  io::Findings findings;
  io::launch::Report report = io::launch::read_launch(launch_of(options), findings);
  findings.throw_if_wrong();
  check(report);
  check_allowed(options.allow, report);
  report.allow(options.allow);
  const bool complete = report.complete();
  const std::string scenario = report.scenario.dump(2, ' ', false, io::launch::Json::error_handler_t::replace) + "\n";
  if (complete && !options.out.empty()) write_file(options.out, scenario);
  if (options.json) {
    print(report.json().dump(2, ' ', false, io::launch::Json::error_handler_t::replace) + "\n");
  } else {
    print(import_text(report, page_paint("never")));
    if (complete && options.out.empty()) print("\n" + scenario);
    if (complete && !options.out.empty()) print("\nwritten to " + printable(options.out) + "\n");
  }
  return complete ? 0 : kRefused;
}

constexpr const char* kFooter =
    "Nothing is executed. Words behind -- are arguments of the script, flags of Megatron-LM, or KEY=VALUE of a "
    "configuration.\n"
    "Exit status: 0 a whole scenario; 1 a setting is refused or a fact is missing; 2 unreadable.\n\nExamples:\n"
    "  foretoken import train.sh --cluster dgx-h100-ndr --set model.vocab_size=32000 --out mine.json\n"
    "  foretoken import train.sh --env NNODES=16 --cluster dgx-h100-ndr --json -- /data/corpus\n"
    "  foretoken import model_config.yaml --gpus 8 --cluster dgx-h100-ndr\n"
    "  foretoken import --cluster dgx-h100-ndr --gpus 8 -- --num-layers 24 --hidden-size 2048 --bf16\n";

}  // namespace
}  // namespace import_command

void add_import(CLI::App& program, Action& chosen, std::vector<std::string> passed) {
  using namespace import_command;
  const auto options = std::make_shared<Options>();
  options->passed = std::move(passed);
  CLI::App* command = program.add_subcommand("import", "Make a scenario of a training framework's launch files");
  command->footer(kFooter);
  command->add_option("FILE", options->files, "A script, YAML, TOML, JSON or CSV file that states a training");
  add_question_options(*command, options->asked);
  add_size_options(*command, options->asked);
  command->add_option("--set", options->sets, "Set KEY=VALUE of the scenario; it wins over the file")
      ->type_name("KEY=VALUE");
  add_env_option(*command, options->variables);
  command
      ->add_option("--row", options->row,
                   "Take this run: a line of a CSV file, h100/num_gpus_64/bf16, or the number of a script's training")
      ->type_name("ROW");
  command->add_option("--allow", options->allow, "Go on without this refused setting; all: without any")
      ->type_name("SETTING");
  command->add_option("-o,--out", options->out, "Write the scenario here")->type_name("FILE");
  command->add_flag("--json", options->json, "Print the scenario and the report as JSON");
  command->callback([&chosen, options] {
    chosen = [options] { return with_given_names(options->asked, [&] { return run(*options); }); };
  });
}

}  // namespace foretoken::tools

// Finds programs without flags beside a file of DeepSpeed or accelerate.
#include "sim/io/import/launch/tuning/bare_program.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/other_devices.h"
#include "sim/io/import/launch/tuning/beside_accelerate.h"
#include "sim/io/import/launch/tuning/other_methods.h"
#include "sim/io/import/launch/tuning/trainer_script.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::tuning {
namespace {

namespace fs = std::filesystem;

bool is_launcher(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  return name == "accelerate" || name == "deepspeed";
}

LaunchedProgram launched_by(const shell::Command& command) {
  return launched_program(command.words, command.place(), [](std::string_view) { return false; });
}

bool names_readable_file(const shell::Script& script, const LaunchedProgram& launched, const std::string& folder) {
  Findings unread;
  std::vector<Argument> arguments = arguments_of(launched.program, "");
  (void)add_deepspeed_of_accelerate(script, launched, folder, arguments);
  for (const char* flag : {"deepspeed-config", "deepspeed"}) {
    const auto text = text_of_named(script, value_of(arguments, flag), folder);
    const auto config = text ? parse_json(*text, "", unread) : std::nullopt;
    if (config && deepspeed::is_deepspeed(Json(*config))) return true;
  }
  const auto text = text_of_named(script, value_of(launched.options, "config-file"), folder);
  const auto settings = text ? read_yaml(*text, "", unread) : std::nullopt;
  return settings && deepspeed::is_accelerate(*settings);
}

}  // namespace

bool is_bare_program(const shell::Script& script, const shell::Command& command, const std::string& folder) {
  if (!std::ranges::any_of(command.words, is_launcher) || !command.empties.empty()) return false;
  const LaunchedProgram launched = launched_by(command);
  const std::vector<std::string>& program = launched.program;
  if (program.empty() || !program.front().ends_with(".py") || (program.size() > 1 && !program[1].starts_with('-')))
    return false;
  const bool bare = std::ranges::all_of(arguments_of(program, ""), [](const Argument& one) {
    return one.name == "deepspeed" || one.name == "deepspeed-config" || is_harmless_name(one.name);
  });
  return bare && !only_evaluates(program) && !untrained(command) && names_readable_file(script, launched, folder);
}

bool read_bare_programs(const shell::Script& script, const std::string& folder, const std::string& row,
                        const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report) {
  std::vector<const shell::Command*> trainings;
  for (const shell::Command& command : script.commands)
    if (is_bare_program(script, command, folder)) trainings.push_back(&command);
  if (trainings.empty()) return false;
  const auto all = static_cast<std::int64_t>(trainings.size());
  const std::int64_t number = row.empty() ? usual_row(trainings) : whole_of(row).value_or(0);
  if (number < 1 || number > all) {
    ask_for_row(all, report);
    return true;
  }
  if (row.empty()) note_left_out(number, all, report);
  const shell::Command& command = *trainings[static_cast<std::size_t>(number - 1)];
  read_trainer_command(script, command, folder, flags, gpus, report);
  const std::string program = fs::path(launched_by(command).program.front()).filename().string();
  report.approximate(printable(program, 60),
                     "no reader here knows it, and no flag states its training: the launcher's file is read, and all "
                     "weights are taken to train");
  return true;
}

}  // namespace foretoken::io::launch::tuning

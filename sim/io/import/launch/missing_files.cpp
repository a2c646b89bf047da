// Words complaints about files that a script names and that cannot be read.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/named_file.h"
#include "sim/io/import/launch/named_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/program_keys.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPutThere = "put the file there, or give it in place of the script";

bool has_ending_of_configuration(const std::string& word) {
  return std::ranges::any_of(std::array{".yaml", ".yml", ".toml", ".json"},
                             [&](const char* ending) { return word.ends_with(ending); });
}

// Returns true for the module of `python -m MODULE` and `accelerate launch -m MODULE`. Launchers and tools are none.
bool names_module(const std::vector<std::string>& words, std::size_t at) {
  if (at < 2 || words[at - 1] != "-m" || shell::is_unknown(words[at])) return false;
  const bool python = std::any_of(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at), [](const auto& word) {
    const std::string name = fs::path(word).filename().string();
    return name.starts_with("python") || name == "torchrun" || name == "accelerate" || name == "deepspeed";
  });
  const std::string package = words[at].substr(0, words[at].find('.'));
  return python && std::ranges::none_of(std::array{"torch", "accelerate", "deepspeed", "pip", "venv", "http", "json"},
                                        [&](const char* tool) { return package == tool; });
}

}  // namespace

std::string unstated_configuration(const shell::Script& script) {
  // Commands before the last program prepare, so that one trains.
  for (auto command = script.commands.rbegin(); command != script.commands.rend(); ++command) {
    const std::vector<std::string>& words = command->words;
    std::string program;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool starts = words[i].ends_with(".py") || names_module(words, i);
      if (starts) program = words[i].ends_with(".py") ? fs::path(words[i]).filename().string() : words[i];
      const std::size_t value = starts || words[i] == "--config" ? i + 1 : words[i].starts_with("--config=") ? i : 0;
      if (program.empty() || value == 0 || value >= words.size() || !shell::is_unknown(words[value])) continue;
      const std::string reason = shell::why_unknown(words[value]);
      if (shell::is_unstated_argument(reason))
        return fmt::format(
            "{} starts {}, which no reader here knows, with {}; if that is its configuration, state it after "
            "--",
            command->place(), printable(program, 60), reason);
    }
    if (!program.empty()) return "";
  }
  return "";
}

namespace {

// Returns the place of the word that names the configuration of a command, whether it is there or not.
std::optional<std::size_t> place_of_configuration(const shell::Command& command) {
  if (shell::handles_files(command)) return std::nullopt;
  const std::vector<std::string>& words = command.words;
  const bool neox = std::ranges::any_of(words, [](const auto& word) { return word.ends_with("deepy.py"); });
  const auto factory = place_of_factory_file(words);
  for (std::size_t i = behind_submission(words); i < words.size(); ++i) {
    const std::string& word = words[i];
    if (factory == i) return i;
    // --config 7b is a size of the program, and --config qwen2.5 a family: no files.
    const bool named = word.find('/') != word.npos || has_ending_of_configuration(word);
    const bool follows =
        (words[i - 1] == "--config" && named) || words[i - 1] == "--config-name" || follows_arguments_flag(words, i);
    const bool ends = has_ending_of_configuration(word) && (neox || !word.ends_with(".json"));
    const bool hydra = word.starts_with("--config-name=");
    if ((!follows && !ends && !hydra) || word.ends_with(".py") || shell::is_unknown(word)) continue;
    if (words[i - 1] == "--config_file" || word.starts_with("--config_file=")) continue;  // of accelerate
    return i;
  }
  return std::nullopt;
}

// Words the complaint about one command; empty where it names no configuration.
std::string missing_configuration(const shell::Script& script, const shell::Command& command) {
  const auto place = place_of_configuration(command);
  if (!place) return "";
  const std::string& word = command.words[*place];
  if (shell::is_unknown(word)) {
    const std::string why = shell::why_unknown(word);
    return fmt::format("{} starts LLaMA-Factory with a configuration that depends on {}; state it {}", command.place(),
                       printable(why, 120), way_to_state(why));
  }
  const std::string shown = printable(word.substr(word.find('=') + 1), 100);
  if (const std::string* const writer = script.unread_by(name_in(word)))
    return fmt::format(
        "{} names {}, which {} writes in a way that cannot be read; give the file as it is then in place of the "
        "script",
        command.place(), shown, *writer);
  return fmt::format("{} names {}, which is not there; {}", command.place(), shown, kPutThere);
}

}  // namespace

std::string missing_configuration(const shell::Script& script) {
  for (const shell::Command& command : script.commands)
    if (std::string missing = missing_configuration(script, command); !missing.empty()) return missing;
  if (const std::string name = experiment_of(script); !name.empty())
    return fmt::format("the variable EXP names {}, which is not there; {}", printable(name, 100), kPutThere);
  return "";
}

void note_missing_configurations(const shell::Script& script, const std::string& folder, Report& report) {
  const auto is_missing = [&](const shell::Command& command) {
    const auto& words = command.words;
    const bool factory = std::ranges::any_of(words, [](const auto& word) { return word == "llamafactory-cli"; });
    if (factory && !place_of_factory_file(words)) return false;  // it trains by flags, or not at all
    const auto place = prepares(command) ? std::nullopt : place_of_configuration(command);
    if (!place || !has_ending_of_configuration(words[*place])) return place.has_value() && factory;
    const std::string name = name_in(words[*place]);
    const bool written = std::ranges::any_of(script.documents, [&](const auto& one) { return one.first == name; });
    return !written && !near_file(name.substr(name.find('=') + 1), folder);
  };
  const auto count = std::ranges::count_if(script.commands, is_missing);
  if (count > 0)
    report.approximate("other commands",
                       count == 1
                           ? "one names a configuration that is not there, and is not counted"
                           : fmt::format("{} name configurations that are not there, and are not counted", count));
}

std::string missing_script(const shell::Script& script) {
  for (const shell::Command& command : script.commands)
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      const std::string& word = command.words[i];
      const std::string before = i == 0 ? "bash" : fs::path(command.words[i - 1]).filename().string();
      const bool starts = before == "bash" || before == "sh" || before == "sbatch";
      if (!starts || !shell::is_script_name(word)) continue;
      for (const std::string& reason : command.empties)
        if (reason.ends_with(shell::kUnset)) {
          const std::string name = printable(reason.substr(0, reason.size() - shell::kUnset.size()), 60);
          return fmt::format(
              "{} starts a script whose name depends on {}, which the script does not set; state it "
              "with --env {}=VALUE",
              command.place(), name, name);
        }
      // The commands of a script that is there stand in its place.
      return fmt::format(
          "{} starts {}, which is not there; put the file there, below the folder of the script or "
          "above it",
          command.place(), printable(shell::shown_unknown(word), 100));
    }
  return "";
}

std::string programs_of(const shell::Script& script) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> programs;
  for (const shell::Command& command : script.commands)
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      const std::string& word = command.words[i];
      const bool module = names_module(command.words, i);
      const std::string name = printable(module ? word : fs::path(word).filename().string(), 60);
      if ((!module && !word.ends_with(".py")) || std::ranges::find(programs, name) != programs.end()) continue;
      if (programs.size() < kMost) programs.push_back(name);
      break;
    }
  return fmt::format("{}", fmt::join(programs, ", "));
}

}  // namespace foretoken::io::launch

// Finds the configuration that a command names, and what the command says beside it.
#include "sim/io/import/launch/named_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/documents.h"
#include "sim/io/import/launch/hosts.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/named_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/program_keys.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

// Options before a folder of configurations: of GPT-NeoX's deepy.py, and of Hydra.
std::string folder_of_configurations(const std::vector<std::string>& words, const std::string& folder) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "-d" || words[i] == "--conf_dir") return (fs::path(folder) / words[i + 1]).string();
  for (const std::string& word : words)
    if (word.starts_with("--config-path=")) return (fs::path(folder) / word.substr(word.find('=') + 1)).string();
  return folder;
}

// Returns true for such a file, and for the one of `train.py args.json`, which transformers' HfArgumentParser reads.
bool names_arguments(const std::vector<std::string>& words, std::size_t at) {
  const std::string& word = words[at];
  if (shell::is_unknown(word)) return false;
  if (place_of_factory_file(words) == at && word.ends_with(".json")) return true;
  const bool alone = at > 0 && words[at - 1].ends_with(".py") && at + 1 == words.size() && word.ends_with(".json");
  return alone || follows_arguments_flag(words, at);
}

// "config.yaml" and "--config=config.yaml"; Hydra's "--config-name=config", and "small" behind deepy.py -d.
std::optional<fs::path> file_named(const std::string& word, const std::string& folder) {
  const bool flag = word.starts_with("-") || word.find('=') != std::string::npos;
  const std::string name = flag ? word.substr(std::min(word.find('='), word.size() - 1) + 1) : word;
  if (name.empty() || shell::is_unknown(name)) return std::nullopt;
  for (const char* ending : {".yaml", ".yml", ".toml"})
    if (name.ends_with(ending)) return near_file(name, folder);
  return word.starts_with("--config-name=") ? near_file(name + ".yaml", folder) : std::nullopt;
}

// Words a value that nobody knows: "<SEQ is not set; state it with --env SEQ=VALUE>". Characters that YAML and TOML
// read become blanks.
std::string open_value(const std::string& unknown) {
  if (shell::is_unset(unknown)) {
    const std::string name = shell::name_of_unset(unknown);
    return fmt::format("<{} is not set; state it with --env {}=VALUE>", name, name);
  }
  std::string reason;
  for (const char c : shell::why_unknown(unknown))
    reason += std::string_view("\"'\\#:,[]{}<>").find(c) == std::string_view::npos ? c : ' ';
  return "<" + reason + ">";
}

// Values that nobody knows become their reasons, in quotes where the language asks for them.
std::string with_open_values(const std::string& text, bool quoted) {
  std::string known;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find(shell::kUnknown, at), text.size());
    known += text.substr(at, begin - at);
    if (begin == text.size()) break;
    at = std::min(text.find(shell::kUnknown, begin + 1), text.size() - 1) + 1;
    const std::size_t before = known.find_last_not_of(' ');
    const bool bare = quoted && before != known.npos && known[before] == '=';
    const std::string value = open_value(text.substr(begin, at - begin));
    const bool line = (before == known.npos || known[before] == '\n') && (at >= text.size() || text[at] == '\n');
    if (line) {  // lines that nobody knows
      known += "# " + value;
      continue;
    }
    known += bare ? '"' + value + '"' : value;
  }
  return known;
}

// "key = " without a value is no TOML. A script that others fill in leaves it behind.
std::string with_empty_values(const std::string& text) {
  std::string known;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t last = line.find_last_not_of(" \t\r");
    const bool empty = last != line.npos && line[last] == '=' && line.find('#') == line.npos;
    known += line + (empty ? " \"<it has no value>\"\n" : "\n");
    at = end + 1;
  }
  return known;
}

// The configuration that the script has written before: its text.
std::optional<std::string> written_by(const shell::Script& script, const std::string& word) {
  const std::string name = name_in(word);
  const bool ends = name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".toml");
  const auto found = std::ranges::find_if(script.documents, [&](const auto& one) { return one.first == name; });
  if (!ends || found == script.documents.end()) return std::nullopt;
  const bool quoted = name.ends_with(".toml");
  const std::string text = with_open_values(found->second, quoted);
  return quoted ? with_empty_values(text) : text;
}

bool is_of_accelerate(const std::string& text) {
  Findings unread;
  const auto document = read_yaml(text, "", unread);
  return document && deepspeed::is_accelerate(*document);
}

bool is_of_accelerate(const fs::path& path) {
  Findings unread;
  const auto text = read_text_file(path, path.string(), unread);
  return text && is_of_accelerate(*text);
}

// Files of accelerate say how to launch, and are no configuration.
bool is_configuration(const std::string& name, const std::string& text) {
  Findings unread;
  const bool toml = name.ends_with(".toml");
  const auto document = toml ? read_toml(text, "", unread) : read_yaml(text, "", unread);
  return document && is_known_document(*document, toml) && !deepspeed::is_accelerate(*document);
}

// Returns the file of the Trainer's arguments that a word names; nothing for a file of another kind.
std::optional<fs::path> arguments_named(const std::vector<std::string>& words, std::size_t at,
                                        const std::string& folder) {
  if (!names_arguments(words, at)) return std::nullopt;
  const auto path = near_file(words[at].substr(words[at].find('=') + 1), folder);
  Findings unread;
  const auto text = path ? read_text_file(*path, path->string(), unread) : std::nullopt;
  return text && is_configuration(path->string(), *text) ? path : std::nullopt;
}

// --micro-batch-size 2 of axolotl's commands, as a key of its file. The options of the launch itself are none.
std::optional<std::string> axolotl_option(const std::string& word, const std::string& next) {
  constexpr std::string_view kLaunch[] = {"launcher",        "num_processes", "num_machines", "main_process_port",
                                          "main_process_ip", "machine_rank",  "accelerate",   "no_accelerate",
                                          "sweep",           "debug",         "cloud"};
  std::string key = word.substr(2, word.find('=') - 2);
  std::ranges::replace(key, '-', '_');
  const std::string value = word.find('=') == word.npos ? next : word.substr(word.find('=') + 1);
  if (shell::is_unknown(value) || std::ranges::find(kLaunch, key) != std::end(kLaunch)) return std::nullopt;
  return key + "=" + value;
}

// Returns the flags behind LLaMA-Factory's file as keys of it: --cutoff_len 512 is cutoff_len=512. Several values of a
// flag become one text, as in lora_target: q_proj,v_proj.
std::vector<std::string> keys_of_flags(std::size_t begin, NamedFile& file) {
  const std::vector<std::string>& words = file.command.words;
  const bool vanished = !file.command.empties.empty();
  std::vector<std::string> keys;
  for (std::size_t i = begin; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool flag = word.starts_with("--") && word.size() > 2;
    if (shell::is_unknown(word.substr(0, word.find('=')))) continue;
    file.flags_as_keys = file.flags_as_keys || flag;
    const std::size_t equals = word.find('=');
    std::string name = word.substr(flag ? 2 : 0, equals == word.npos ? equals : equals - (flag ? 2 : 0));
    if (flag) std::ranges::replace(name, '-', '_');
    if (equals != word.npos) keys.push_back(name + word.substr(equals));
    if (!flag || equals != word.npos) continue;
    const std::size_t at = i;
    std::string value;
    for (; i + 1 < words.size() && !words[i + 1].starts_with("--"); ++i)
      value += (value.empty() ? "" : ",") + words[i + 1];
    const bool given = i > at;
    if (shell::is_unknown(value) || (value.empty() && (given || vanished)))
      file.without_value.push_back(name);
    else
      keys.push_back(name + "=" + (value.empty() ? "true" : value));
  }
  return keys;
}

// The words behind the file that override its keys.
std::vector<std::string> overrides_of(const std::vector<std::string>& words, std::size_t begin) {
  std::vector<std::string> overrides;
  const bool axolotl = std::ranges::any_of(
      words, [](const std::string& word) { return word == "axolotl" || word.starts_with("axolotl.cli"); });
  for (std::size_t i = begin; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (axolotl && word == "--") break;  // options of the launcher follow
    if (shell::is_unknown(word)) continue;
    const std::string key = word.substr(0, word.find('='));
    const bool flag = word.starts_with("--") && word.size() > 2;
    const bool dotted = flag && key.find('.') != std::string::npos;
    const bool stated = word.find('=') != std::string::npos;
    const bool valued = i + 1 < words.size() && !words[i + 1].starts_with("-");
    if (axolotl && flag && !dotted) {
      if (std::optional<std::string> override = axolotl_option(word, valued ? words[i + 1] : "true"))
        overrides.push_back(std::move(*override));
    } else if (stated && (dotted || !word.starts_with("-"))) {
      overrides.push_back(word);
    } else if (dotted && !valued) {
      overrides.push_back(word + "=true");
    } else if (dotted && !shell::is_unknown(words[i + 1])) {
      overrides.push_back(word);
      overrides.push_back(words[++i]);
    }
  }
  return overrides;
}

// Counts the GPUs that the command of a file states.
void count_gpus(const shell::Script& script, const std::string& folder, NamedFile& file) {
  const shell::Command& command = file.command;
  constexpr std::string_view kAllNodes[] = {"nnodes", "nodes", "num-nodes", "gpus", "ntasks", "include"};
  auto launched = launched_program(command.words, command.place(), [](std::string_view) { return false; });
  const std::string program = fs::path(command.words.front()).filename().string();
  if (program == "tune" || program == "composer") {  // launchers by themselves: tune run --nproc_per_node 4 recipe
    for (Argument& argument : arguments_of(command.words, command.place())) {
      if (argument.values.empty()) continue;
      argument.values.resize(1);
      if (argument.name == "world-size") argument.name = "gpus";  // composer's number of all processes
      if (is_count(argument.name)) launched.counts.push_back(std::move(argument));
    }
  }
  const auto behind = std::ranges::find(command.words, "--");
  if (program == "axolotl" && behind != command.words.end())  // --launcher torchrun -- --nproc_per_node=4
    for (Argument& argument : arguments_of({behind + 1, command.words.end()}, command.place()))
      if (is_count(argument.name)) launched.counts.push_back(std::move(argument));
  std::vector<Argument> counts = counts_of(command, launched);
  file.refused_hosts = take_hosts(script, command, launched, folder, counts);
  for (const Argument& one : counts) {
    file.launched = file.launched || !one.place.ends_with(kWithoutLauncher);
    file.states_nodes = file.states_nodes || std::ranges::find(kAllNodes, one.name) != std::end(kAllNodes);
  }
  file.gpus_of_machine = megatron::gpus_of_machine(counts);
  file.gpus = megatron::gpus_of_counts(std::move(counts));
}

}  // namespace

bool prepares(const shell::Command& command) {
  return std::ranges::any_of(command.words, [](const std::string& word) {
    return word == "preprocess" || word.ends_with(".preprocess") || word.ends_with("preprocess.py");
  });
}

std::optional<NamedFile> file_of_command(const shell::Script& script, const shell::Command& command,
                                         const std::string& folder) {
  if (prepares(command) || shell::handles_files(command)) return std::nullopt;
  const std::string near = folder_of_configurations(command.words, folder);
  NamedFile file{.place = command.place(), .command = command};
  std::size_t last = 0;
  for (std::size_t i = behind_submission(command.words); i < command.words.size(); ++i) {
    if (script.unread_by(name_in(command.words[i])) != nullptr) continue;
    const auto text = written_by(script, command.words[i]);
    if (text && file.paths.empty() && !is_of_accelerate(*text)) {
      const std::string name = command.words[i].substr(command.words[i].rfind('=') + 1);
      file.paths.emplace_back(fs::path(folder) / shell::shown_unknown(name));
      file.text = text;
      last = i;
    }
    if (text) continue;
    auto path = file_named(command.words[i], near);
    if (!path) path = arguments_named(command.words, i, near);
    if (!path || (path->extension() != ".toml" && is_of_accelerate(*path))) continue;
    file.paths.push_back(*path);
    if (last == 0) last = i;
  }
  if (file.paths.empty()) return std::nullopt;
  const bool primus = is_primus_command(command.words);
  if (place_of_factory_file(command.words) == last)
    file.overrides = keys_of_flags(last + 1, file);
  else
    file.overrides = primus ? overrides_of_primus(command.words, last + 1) : overrides_of(command.words, last + 1);
  std::erase_if(file.overrides, [&](const std::string& word) { return file_named(word, near).has_value(); });
  count_gpus(script, folder, file);
  if (primus) file.gpus = gpus_of_primus(script);
  return file;
}

std::vector<NamedFile> files_of_script(const shell::Script& script, const std::string& folder) {
  std::vector<NamedFile> files;
  for (const shell::Command& command : script.commands)
    if (auto file = file_of_command(script, command, folder)) files.push_back(std::move(*file));
  if (files.empty())
    if (auto file = file_of_variable(script, folder)) files.push_back(std::move(*file));
  if (files.empty())
    for (NamedFile& one : keys_of_programs(script, folder)) {
      count_gpus(script, folder, one);
      files.push_back(std::move(one));
    }
  return files;
}

void note_configuration(const NamedFile& named, Report& report) {
  if (named.keys_alone)
    report.approximate("the configuration",
                       "it is not there; the words behind the program at " + named.place + " are read alone");
  else
    report.approximate(printable(named.paths.front().filename().string(), 100),
                       named.place + " names it; it is read in its place");
  for (const std::string& flag : named.without_value)
    report.refuse("--" + printable(flag, 80),
                  "it has no value, and parts of the command are taken as empty; state them with --env NAME=VALUE");
  if (named.flags_as_keys)
    report.approximate("flags behind the configuration",
                       "--key value is laid over the file as key=value is; LLaMA-Factory itself takes key=value alone "
                       "there, and stops at such a flag (src/llamafactory/hparams/parser.py)");
}

std::vector<NamedFile> files_written(const shell::Script& script, const std::string& folder) {
  std::vector<NamedFile> files;
  for (const std::string& name : script.written) {
    const auto text = written_by(script, name);
    const bool known = std::ranges::any_of(files, [&name = name](const NamedFile& one) {
      return one.paths.front().filename() == fs::path(name).filename();
    });
    if (!text || known || !is_configuration(name, *text)) continue;
    files.push_back({.paths = {fs::path(folder) / shell::shown_unknown(name)}, .text = text});
    files.back().place = "the script";
  }
  return files;
}

}  // namespace foretoken::io::launch

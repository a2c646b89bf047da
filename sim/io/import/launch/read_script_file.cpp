// Finds the training of a shell script, and hands it or its configuration to a reader.
#include "sim/io/import/launch/read_script_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/bridge/performance_script.h"
#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/launch_file.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/other_programs.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/mlperf/read_mlperf.h"
#include "sim/io/import/launch/named_file.h"
#include "sim/io/import/launch/named_words.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/neox/read_neox.h"
#include "sim/io/import/launch/other_devices.h"
#include "sim/io/import/launch/overrides.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/program_keys.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/tuning/bare_program.h"
#include "sim/io/import/launch/tuning/other_methods.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/trainer_script.h"
#include "sim/io/import/launch/yaml/read_yaml.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

// Words up to the first flag are the script's own arguments: $1, $2, ...
std::pair<std::vector<std::string>, std::vector<std::string>> parted(const std::vector<std::string>& words) {
  const auto first = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with("--"); });
  return {{words.begin(), first}, {first, words.end()}};
}

bool asks_for_all_arguments(const std::string& script) {
  return std::ranges::any_of(std::array{"$@", "$*", "$#", "${@", "${*", "${#}", "shift"},
                             [&](const char* word) { return script.find(word) != script.npos; });
}

bool same_commands(const shell::Script& a, const shell::Script& b) {
  return std::ranges::equal(a.commands, b.commands, {}, &shell::Command::words, &shell::Command::words);
}

// Leaves out the flags that the script takes as options of its own, with their values. One with the value of the
// script's default changes no command.
void leave_out_options(const shell::Script& script, std::vector<std::string>& flags) {
  bool taken = false;
  std::erase_if(flags, [&](const std::string& word) {
    if (word.starts_with("--"))
      taken = script.options.contains(word) || script.options.contains(word.substr(0, word.find('=')));
    return taken;
  });
}

// Returns true when a name stands in a text as a word of its own.
bool holds_name(const std::string& text, const std::string& name) {
  const auto is_part = [&](std::size_t at) { return at < text.size() && shell::is_of_name(text[at]); };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  return false;
}

bool is_neox_file(const fs::path& path) {
  Findings unread;
  const auto text = text_of(path, unread);
  const auto document = text ? read_yaml(*text, printable(path.string()), unread) : std::nullopt;
  return document && neox::is_neox(*document);
}

// Returns the first variable without a value that is a word of a training program: train.py $FILE. Empty for none.
std::string unset_words(const shell::Script& script) {
  for (const shell::Command& command : script.commands) {
    shell::Script one;
    one.commands = {command};
    if (programs_of(one).empty()) continue;
    for (const std::string& reason : command.empties)
      if (reason.ends_with(shell::kUnset)) return printable(reason.substr(0, reason.size() - shell::kUnset.size()), 60);
  }
  return "";
}

// Reads arguments of the Trainer in a file that `accelerate launch --config_file OTHER` starts with. Returns false for
// other files and commands.
bool read_beside_accelerate(const fs::path& script_path, const shell::Script& script, const NamedFile& named,
                            const std::string& content, const Launch& launch, Report& report, Findings& findings) {
  if (!tuning::starts_by_accelerate(named.command)) return false;
  Findings unread;
  auto document = read_yaml(content, printable(named.paths.front().string()), unread);
  if (!document || !tuning::is_trainer(*document)) return false;
  apply_overrides(launch.words, *document, findings);
  const std::string folder = script_path.parent_path().empty() ? "." : script_path.parent_path().string();
  tuning::read_trainer_file(script, named.command, folder, std::move(*document), stated_gpus(launch), report);
  return true;
}

// A file that the script writes is not on the disk: complaints about it name the script.
void complain_of_written(const fs::path& script, const fs::path& written, const Findings& own, Findings& findings) {
  for (Complaint complaint : own.complaints.listed()) {
    if (complaint.file == printable(written.string())) {
      complaint.file = printable(script.string());
      complaint.message =
          fmt::format("it writes {}: {}", printable(written.filename().string(), 100), complaint.message);
    }
    findings.complaints.push_back(std::move(complaint));
  }
}

// Names the files that are there, and that a command writes before another one reads them, in a way that cannot be
// read.
void note_unread(const shell::Script& script, const std::string& folder, Report& report) {
  std::set<std::string> noted;
  for (const shell::Command& command : script.commands)
    for (const std::string& word : command.words) {
      const std::string name = name_in(word);
      const std::string* const writer = script.unread_by(name);
      const bool known = writer != nullptr && (std::ranges::find(script.written, name) != script.written.end() ||
                                               near_file(name, folder).has_value());
      if (!known || shell::handles_files(command) || !noted.insert(name).second) continue;
      report.approximate(printable(name, 100),
                         *writer + " writes it in a way that cannot be read; it is taken as missing");
    }
}

// Returns the variables of the script with one known value, which the program that it starts may read. All are taken
// as exported: scripts usually export such variables, and a default of the file would be the worse guess. Those of the
// user stand behind them and win.
Environment environment_of(const shell::Script& script, const Launch& launch) {
  Environment environment;
  for (const auto& [name, values] : script.variables.values)
    if (values.size() == 1 && !shell::is_unknown(values.front())) environment.emplace_back(name, values.front());
  environment.insert(environment.end(), launch.variables.begin(), launch.variables.end());
  return environment;
}

// Returns true for files of the user's shell and of an environment of packages. They start no training.
bool sets_no_launch(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  constexpr std::string_view kNames[] = {".bashrc", ".bash_profile", ".bash_login", ".profile",
                                         ".zshrc",  "bashrc",        "conda.sh",    "activate"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Refuses a script without a training of its own that sources a file which is not there.
bool refuse_missing_source(const shell::Script& script, Report& report) {
  const auto certain = std::ranges::find_if(script.missing, [&](const std::string& file) {
    return !script.doubtful.contains(file) && !sets_no_launch(file);
  });
  if (certain == script.missing.end()) return false;
  const std::string shown = printable(fs::path(*certain).filename().string(), 120);
  report.refuse(shown,
                fmt::format("incomplete: {} is not there, which the script sources; it starts no training", shown));
  return true;
}

// Reads the configuration that a command of a script names, with the words beside it.
void read_named_file(const fs::path& path, const shell::Script& script, const std::vector<NamedFile>& all,
                     const std::string& missing, const std::vector<std::string>& flags, const Launch& launch,
                     Report& report, Findings& findings) {
  const auto count = static_cast<std::int64_t>(all.size());
  std::vector<const shell::Command*> commands;
  for (const NamedFile& one : all) commands.push_back(&one.command);
  const std::int64_t number = launch.row.empty() || count < 2 ? usual_row(commands) : whole_of(launch.row).value_or(0);
  if (all.empty()) {
    if (!missing.empty()) return complain(findings, path, missing);
    if (const std::string open = unstated_configuration(script); !open.empty()) return complain(findings, path, open);
    const std::string programs = programs_of(script), started = missing_script(script);
    if (programs.empty() && started.empty() && refuse_missing_source(script, report)) return;
    if (programs.empty() && !started.empty()) return complain(findings, path, started);
    if (programs.empty() && !script.written.empty())
      return complain(findings, path,
                      fmt::format("the script starts no training that can be read, and writes {}, which belongs to no "
                                  "framework here; {}",
                                  printable(shell::shown_unknown(script.written.front()), 100), kExpected));
    if (const std::string open = unset_words(script); !programs.empty() && !open.empty())
      return complain(
          findings, path,
          fmt::format("the script starts {}; {}, which it does not set, may name the configuration: state it "
                      "with --env {}=VALUE; {}",
                      programs, open, open, kExpected));
    return complain(findings, path,
                    (programs.empty() ? std::string("the script starts no training that can be read; ")
                                      : "the script starts " + programs + ", which no reader here knows; ") +
                        kExpected);
  }
  if (number < 1 || number > count) return ask_for_row(count, report);
  if (launch.row.empty()) note_left_out(number, count, report);
  const NamedFile& named = all[static_cast<std::size_t>(number - 1)];
  const fs::path& first = named.paths.front();
  note_configuration(named, report);
  note_empty_words(named.command, report);
  refuse_other_backend(named.command, report);
  report.gpus_of_machine = named.gpus_of_machine;
  if (!named.refused_hosts.empty()) report.refuse("--hostfile", named.refused_hosts, named.place);
  Launch inner = launch;
  inner.words = named.overrides;
  inner.words.insert(inner.words.end(), flags.begin(), flags.end());
  if (named.gpus && !stated_gpus(launch)) inner.sets.push_back("gpus=" + std::to_string(*named.gpus));
  inner.files = named.paths;
  inner.variables = environment_of(script, launch);
  const auto content = named.text ? named.text : text_of(first, findings);
  if (!content) return;
  Findings own;
  if (!read_beside_accelerate(path, script, named, *content, inner, report, own)) {
    if (inner.files.size() > 1 && std::ranges::any_of(inner.files, is_neox_file))
      read_several(inner, report, own);
    else
      read_text(first, *content, inner, report, own);
  }
  findings.files.insert(findings.files.end(), own.files.begin(), own.files.end());
  complain_of_written(path, named.text ? first : fs::path(), own, findings);
  if (named.keys_alone) complete_keys(named, report);
  const bool settled = named.keys_alone && report.framework == "NeMo";
  if (stated_gpus(launch) || settled) return;
  if (named.gpus && !report.has("gpus")) report.map("gpus", *named.gpus, "");
  for (Mapped& one : report.mapped)
    if (one.key == "gpus") one.from = "the launcher (" + named.place + ")";
}

// Returns the GPUs of a node, where the user states those of all nodes and a script counts its own by a command; 0
// where the number of nodes is not known.
std::int64_t devices_of_node(const shell::Script& script, std::int64_t gpus) {
  std::int64_t nodes = 0;
  for (const shell::Command& command : script.commands) {
    const bool counted = std::ranges::any_of(
        command.words, [](const std::string& word) { return shell::why_unknown(word).starts_with("the output of `"); });
    if (!counted) continue;
    const LaunchedProgram launched = launched_program(command.words, "", [](std::string_view) { return false; });
    std::int64_t own = 1;
    std::vector<Argument> counts = counts_of(command, launched);
    counts.insert(counts.end(), launched.options.begin(), launched.options.end());
    for (const Argument& count : counts) {
      if (count.place.ends_with(" -n")) return 0;  // it counts the processes of all nodes
      constexpr std::string_view kNodes[] = {"nnodes", "nodes", "num-nodes", "num-machines"};
      if (std::ranges::find(kNodes, count.name) == std::end(kNodes)) continue;
      own = whole_of(joined_values(count)).value_or(0);
    }
    if (own < 1 || (nodes > 0 && nodes != own)) return 0;
    nodes = own;
  }
  return nodes > 0 && gpus % nodes == 0 ? gpus / nodes : 0;
}

// Reads one of several trainings, where LLaMA-Factory starts some by a file and others by flags alone. Returns false
// for other scripts. Files that are not there are no trainings.
bool read_mixed_script(const fs::path& path, const shell::Script& script, const std::string& folder,
                       const std::vector<std::string>& flags, const Launch& launch, Report& report,
                       Findings& findings) {
  std::vector<const shell::Command*> trainings;
  std::vector<std::optional<NamedFile>> files;
  bool mixed = false;
  for (const shell::Command& command : script.commands) {
    auto named = place_of_factory_file(command.words) ? file_of_command(script, command, folder) : std::nullopt;
    if (!named && !tuning::trains(command)) continue;
    mixed = mixed || named;
    trainings.push_back(&command);
    files.push_back(std::move(named));
  }
  if (!mixed) return false;
  const auto all = static_cast<std::int64_t>(trainings.size());
  const std::int64_t number = launch.row.empty() ? usual_row(trainings) : whole_of(launch.row).value_or(0);
  if (number < 1 || number > all) {
    ask_for_row(all, report);
    return true;
  }
  if (launch.row.empty()) note_left_out(number, all, report);
  note_missing_configurations(script, folder, report);
  const auto chosen = static_cast<std::size_t>(number - 1);
  Launch inner = launch;
  inner.row.clear();
  if (!files[chosen])
    tuning::read_trainer_command(script, *trainings[chosen], folder, flags, stated_gpus(launch), report);
  else
    read_named_file(path, script, {*files[chosen]}, "", flags, inner, report, findings);
  return true;
}

}  // namespace

void read_script_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                      Findings& findings) {
  auto [arguments, flags] = parted(launch.words);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  std::int64_t devices = 0;
  const auto read_with = [&](const std::vector<std::string>& words, Findings& found) {
    return shell::read_script_text(text, printable(path.filename().string()), folder,
                                   {launch.variables, words, devices}, found);
  };
  auto script = read_with(arguments, findings);
  if (const auto gpus = stated_gpus(launch); script && gpus) devices = devices_of_node(*script, *gpus);
  if (devices > 0) script = read_with(arguments, findings);
  // A script that reads its flags starts other commands with them. Otherwise they follow those of the training.
  if (script && !flags.empty() && asks_for_all_arguments(text)) {
    auto own = read_with(launch.words, findings);
    if (!own || !same_commands(*script, *own))
      flags.clear();
    else
      leave_out_options(*own, flags);
    script = std::move(own);
  }
  if (!script) return;
  refuse_other_devices(*script, report);
  note_unread(*script, folder, report);
  if (!script->empties.empty())
    report.approximate("variables that nobody sets",
                       fmt::format("conditions take them as empty, as the shell does: {}; state them with --env "
                                   "NAME=VALUE",
                                   printable(fmt::format("{}", fmt::join(script->empties, ", ")), 120)));
  if (!script->passed_checks.empty())
    report.approximate("variables without a value",
                       fmt::format("a check of the script ends it for want of {}; the reading goes on. State them with "
                                   "--env NAME=VALUE",
                                   printable(fmt::format("{}", fmt::join(script->passed_checks, ", ")), 120)));
  if (script->continued)
    report.approximate("a blank behind a backslash", "the shell ends the command there; the next line is read with it");
  // Other files that the script reads may read the variable.
  for (const auto& [name, value] : launch.variables)
    if (script->files.empty() && script->missing.empty() && !holds_name(text, name))
      report.approximate("--env " + printable(name, 60), "no line of the script reads it; it changes nothing");
  if (mlperf::is_mlperf_script(*script)) {
    if (!flags.empty())
      complain(findings, path, "a configuration of MLPerf takes no flags behind --; use --env NAME=VALUE");
    return mlperf::read_mlperf(*script, path, report);
  }
  if (mlperf::refuse_reference_program(*script, report) || refuse_maxtext(*script, report)) return;
  if (bridge::is_performance_script(*script))
    return bridge::read_performance_script(*script, launch.row, flags, report);
  const bool by_flags = tuning::is_trainer_script(*script);
  if (by_flags && read_mixed_script(path, *script, folder, flags, launch, report, findings)) return;
  if (by_flags) return tuning::read_trainer_script(*script, folder, launch.row, flags, stated_gpus(launch), report);
  const bool primus =
      std::ranges::any_of(script->commands, [](const shell::Command& one) { return is_primus_command(one.words); });
  if (!primus && megatron::is_megatron_script(*script))
    return megatron::read_launch_script(*script, folder, launch.row, flags, report);
  if (const std::string_view other = megatron::started_instead(*script); !other.empty())
    return complain(findings, path, fmt::format("the script starts {}; {}", other, kExpected));
  // Commands that evaluate, or train by another method, are left out beside a training.
  shell::Script plain = *script;
  std::erase_if(plain.commands, [](const shell::Command& one) { return tuning::untrained(one).has_value(); });
  const std::string missing = missing_configuration(plain);
  std::vector<NamedFile> files = files_of_script(plain, folder);
  if (files.empty() && missing.empty() && plain.commands.size() < script->commands.size()) {
    const auto other =
        std::ranges::find_if(script->commands, [](const auto& one) { return tuning::untrained(one).has_value(); });
    const tuning::Untrained found = *tuning::untrained(*other);
    report.refuse(found.setting, found.because, other->place());
    report.allow(launch.allow);
    if (!report.complete()) return;
    files = files_of_script(*script, folder);
    if (files.empty()) return tuning::read_trainer_command(*script, *other, folder, flags, stated_gpus(launch), report);
  }
  if (files.empty() && missing.empty() &&
      tuning::read_bare_programs(plain, folder, launch.row, flags, stated_gpus(launch), report))
    return;
  // A script that only writes a configuration, which another one starts.
  if (files.empty() && missing.empty() && programs_of(*script).empty()) files = files_written(*script, folder);
  if (!files.empty()) note_missing_configurations(plain, folder, report);
  read_named_file(path, *script, files, missing, flags, launch, report, findings);
}

}  // namespace foretoken::io::launch

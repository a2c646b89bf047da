// Finds the framework of a launch, and completes the scenario that its reader makes.
#include "sim/io/import/launch/read_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/check_shape.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/documents.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/mlperf/read_mlperf.h"
#include "sim/io/import/launch/named_file.h"
#include "sim/io/import/launch/nemo/read_table.h"
#include "sim/io/import/launch/neox/read_neox.h"
#include "sim/io/import/launch/other_devices.h"
#include "sim/io/import/launch/overrides.h"
#include "sim/io/import/launch/own_lines.h"
#include "sim/io/import/launch/program_keys.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/script.h"
#include "sim/io/import/launch/toml/read_toml.h"
#include "sim/io/import/launch/tuning/other_methods.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/trainer_script.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"
#include "sim/io/json/set_value.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

/// A launch file is a few kilobytes; a larger one is something else.
constexpr std::uintmax_t kLargestLaunch = 4 << 20;

constexpr const char* kExpected =
    "expected a launch of Megatron-LM, NeMo, DeepSpeed, torchtitan or another framework of docs/user/import.md";

void complain(Findings& findings, const fs::path& path, std::string message) {
  findings.complaints.push_back({printable(path.string()), "", std::move(message)});
}

std::optional<std::string> text_of(const fs::path& path, Findings& findings) {
  std::error_code error;
  // Reading a pipe may wait for ever.
  const bool other = fs::exists(path, error) && !fs::is_regular_file(path, error) && !fs::is_directory(path, error);
  if (other) {
    complain(findings, path, "not a regular file; copy it into a file first");
    return std::nullopt;
  }
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) > kLargestLaunch) {
    complain(findings, path,
             fmt::format("expected at most {} MiB, found {} bytes; {}", kLargestLaunch >> 20,
                         fs::file_size(path, error), kExpected));
    return std::nullopt;
  }
  auto text = read_text_file(path, printable(path.string()), findings);
  if (!text) return text;
  if (text->size() > kLargestLaunch || text->find('\0') != text->npos) {
    complain(findings, path, std::string("not a text; ") + kExpected);
    return std::nullopt;
  }
  return text;
}

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

// Returns true when a name stands in a text as a word of its own.
bool holds_name(const std::string& text, const std::string& name) {
  const auto is_part = [&](std::size_t at) { return at < text.size() && shell::is_of_name(text[at]); };
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + name.size())) return true;
  return false;
}

void read_text(const fs::path& path, const std::string& text, const Launch& launch, Report& report, Findings& findings);
void read_several(const Launch& launch, Report& report, Findings& findings);

// The number that --gpus or --set states.
std::optional<std::int64_t> stated_gpus(const Launch& launch) {
  constexpr std::string_view kKey = "gpus=";
  std::optional<std::int64_t> gpus;
  for (const std::string& set : launch.sets)
    if (set.starts_with(kKey)) gpus = whole_of(std::string_view(set).substr(kKey.size()));
  return gpus && *gpus > 0 ? gpus : std::nullopt;
}

bool is_neox_file(const fs::path& path) {
  Findings unread;
  const auto text = text_of(path, unread);
  const auto document = text ? read_yaml(*text, printable(path.string()), unread) : std::nullopt;
  return document && neox::is_neox(*document);
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

// Reads the configuration that a command of a script names, with the words beside it.
void read_named_file(const fs::path& path, const shell::Script& script, const std::vector<NamedFile>& all,
                     const std::string& missing, const std::vector<std::string>& flags, const Launch& launch,
                     Report& report, Findings& findings) {
  const auto count = static_cast<std::int64_t>(all.size());
  const std::int64_t number = launch.row.empty() || count < 2 ? 1 : whole_of(launch.row).value_or(0);
  if (all.empty()) {
    if (!missing.empty())
      return complain(findings, path, missing + "; put the file there, or give it in place of the script");
    const std::string programs = programs_of(script), started = missing_script(script);
    if (programs.empty() && !started.empty()) return complain(findings, path, started);
    if (programs.empty() && !script.written.empty())
      return complain(findings, path,
                      fmt::format("the script starts no training that can be read, and writes {}, which belongs to no "
                                  "framework here; {}",
                                  printable(shell::shown_unknown(script.written.front()), 100), kExpected));
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
  Launch inner = launch;
  inner.words = named.overrides;
  inner.words.insert(inner.words.end(), flags.begin(), flags.end());
  if (named.gpus && !stated_gpus(launch)) inner.sets.push_back("gpus=" + std::to_string(*named.gpus));
  inner.files = named.paths;
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

void read_script_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                      Findings& findings) {
  auto [arguments, flags] = parted(launch.words);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  const auto read_with = [&](const std::vector<std::string>& words, Findings& found) {
    return shell::read_script_text(text, printable(path.filename().string()), folder, {launch.variables, words}, found);
  };
  auto script = read_with(arguments, findings);
  // A script that reads its flags starts other commands with them. Otherwise they follow those of the training.
  if (script && !flags.empty() && asks_for_all_arguments(text)) {
    auto own = read_with(launch.words, findings);
    if (!own || !same_commands(*script, *own)) {
      script = std::move(own);
      flags.clear();
    }
  }
  if (!script) return;
  refuse_other_devices(*script, report);
  if (!script->empties.empty())
    report.approximate("variables that nobody sets",
                       fmt::format("conditions take them as empty, as the shell does: {}; state them with --env "
                                   "NAME=VALUE",
                                   printable(fmt::format("{}", fmt::join(script->empties, ", ")), 120)));
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
  if (tuning::is_trainer_script(*script))
    return tuning::read_trainer_script(*script, folder, launch.row, flags, stated_gpus(launch), report);
  if (megatron::is_megatron_script(*script))
    return megatron::read_launch_script(*script, folder, launch.row, flags, report);
  if (const std::string_view other = megatron::other_program_of(*script); !other.empty())
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
  // A script that only writes a configuration, which another one starts.
  if (files.empty() && missing.empty() && programs_of(*script).empty()) files = files_written(*script, folder);
  read_named_file(path, *script, files, missing, flags, launch, report, findings);
}

void read_document(const Json& document, const std::string& text, const fs::path& path, const Launch& launch,
                   Report& report, Findings& findings) {
  if (!read_known_document({document, text, path, launch.row, stated_gpus(launch)}, report))
    complain(findings, path, std::string("it belongs to no framework that can be read; ") + kExpected);
}

void read_yaml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  auto document = read_yaml(text, printable(path.string()), findings);
  if (!document) return;
  if (!launch.words.empty() && document->is_object() && document->contains("MODEL_ARGS"))
    return complain(findings, path, "a functional test takes no words behind --; change a key with --set");
  apply_overrides(launch.words, *document, findings);
  read_document(*document, text, path, launch, report, findings);
}

void read_json_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  const auto document = parse_json(text, printable(path.string()), findings);
  if (!document) return;
  Json texts = as_texts(Json(*document));
  apply_overrides(launch.words, texts, findings);
  read_document(texts, text, path, launch, report, findings);
}

void read_csv_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                   Findings& findings) {
  if (!launch.words.empty())
    complain(findings, path, "a table of runs takes no words behind --; choose one with --row");
  if (nemo::is_run_table(text)) return nemo::read_run_table(text, launch.row, report);
  complain(findings, path, std::string("it is no table of recommended runs; ") + kExpected);
}

void read_toml_file(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
                    Findings& findings) {
  auto document = read_toml(text, printable(path.string()), findings);
  if (!document) return;
  apply_overrides(launch.words, *document, findings);
  read_document(*document, text, path, launch, report, findings);
}

using Kind =
    std::pair<std::string_view, void (*)(const fs::path&, const std::string&, const Launch&, Report&, Findings&)>;
constexpr Kind kReaders[] = {
    {".yaml", read_yaml_file}, {".yml", read_yaml_file}, {".toml", read_toml_file}, {".csv", read_csv_file}};

void read_text(const fs::path& path, const std::string& text, const Launch& launch, Report& report,
               Findings& findings) {
  const std::string extension = path.extension().string();
  for (const auto& [ending, reader] : kReaders)
    if (extension == ending) return reader(path, text, launch, report, findings);
  if (extension == ".json") return read_json_file(path, text, launch, report, findings);
  if (shell::is_script_name(extension) || text.starts_with("#!"))
    return read_script_file(path, text, launch, report, findings);
  complain(findings, path, fmt::format("unknown kind of file {}; {}", in_quotes(extension), kExpected));
}

// Words of a command line: flags alone, or a command with its launcher.
void read_words(const Launch& launch, Report& report) {
  shell::Script script;
  script.commands.push_back({.words = launch.words, .file = "the command line", .line = 0});
  if (tuning::is_trainer_script(script))
    return tuning::read_trainer_script(script, ".", launch.row, {}, stated_gpus(launch), report);
  const bool whole = std::ranges::any_of(launch.words, [](const std::string& word) { return word.ends_with(".py"); });
  if (whole && megatron::is_megatron_script(script))
    return megatron::read_launch_script(script, ".", launch.row, {}, report);
  megatron::read_arguments(arguments_of(launch.words, "the command line"), report);
}

// Documents of GPT-NeoX that are merged.
void read_several(const Launch& launch, Report& report, Findings& findings) {
  std::vector<Json> documents;
  for (const fs::path& path : launch.files) {
    const auto text = text_of(path, findings);
    auto document = text ? read_yaml(*text, printable(path.string()), findings) : std::nullopt;
    if (document) documents.push_back(std::move(*document));
  }
  // A part of a configuration may show nothing of its framework.
  if (!documents.empty() && std::ranges::none_of(documents, neox::is_neox))
    complain(findings, launch.files.front(), "several files are merged for GPT-NeoX only; give one file");
  if (!launch.words.empty()) findings.complaints.push_back({"behind --", "", "several files take no words behind --"});
  if (findings.complaints.empty()) neox::read_neox(neox::merged_neox(documents), stated_gpus(launch), report);
}

// The user's own values win over those of the file. Their paths start at the current folder.
void apply_sets(const std::vector<std::string>& sets, const std::string& from, Report& report, Findings& findings) {
  nlohmann::json scenario = report.scenario;
  for (const std::string& set : sets) apply_set(scenario, set, findings);
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find('='));
    report.mapped.push_back(
        {printable(key, 80), printable(set.substr(std::min(set.size(), key.size() + 1)), 80), from});
  }
  report.scenario = scenario;
}

// Completes what a reader has made of the files. `own` are the facts that comments of the file state.
void complete(const Launch& launch, const std::vector<std::string>& own, Report& report, Findings& findings) {
  // Facts would not help where a file is refused before any of its settings is read.
  const bool refused_whole =
      !report.refused.empty() && report.mapped.empty() && report.assumed.empty() && report.asked.empty();
  const bool no_row = std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "row"; });
  apply_sets(own, "a comment of the file", report, findings);
  apply_sets(launch.sets, "the command line", report, findings);
  for (const std::string& set : launch.sets)  // the user's own value stands for what the file may hold
    std::erase_if(report.refused, [&](const Refused& one) { return one.setting == set.substr(0, set.find('=')); });
  report.allow(launch.allow);
  report.unread = (refused_whole || no_row) && !report.complete();
  if (report.unread) return;
  complete_scenario(report);
  report.allow(launch.allow);
}

}  // namespace

Report read_launch_text(const std::string& text, const fs::path& name, const Launch& launch, Findings& findings) {
  Report report;
  report.scenario["name"] = printable(name.stem().string());
  const std::vector<std::string> own = own_lines(text);
  Launch known = launch;
  known.sets.insert(known.sets.begin(), own.begin(), own.end());
  read_text(name, text, known, report, findings);
  if (findings.complaints.empty()) complete(launch, own, report, findings);
  return report;
}

Report read_launch(const Launch& launch, Findings& findings) {
  if (launch.files.size() == 1) {
    const auto text = text_of(launch.files.front(), findings);
    return text ? read_launch_text(*text, launch.files.front(), launch, findings) : Report();
  }
  Report report;
  if (launch.files.empty())
    read_words(launch, report);
  else
    read_several(launch, report, findings);
  report.scenario["name"] =
      launch.files.empty() ? "an imported command line" : printable(launch.files.front().stem().string());
  if (findings.complaints.empty()) complete(launch, {}, report, findings);
  return report;
}

bool is_launch_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return shell::is_script_name(extension) || std::ranges::find(kReaders, extension, &Kind::first) != std::end(kReaders);
}

bool is_launch_document(const nlohmann::json& document) { return deepspeed::is_deepspeed(Json(document)); }

}  // namespace foretoken::io::launch

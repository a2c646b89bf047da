// Reads a shell script without executing anything.
#include "sim/io/import/launch/shell/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/other_jobs.h"
#include "sim/io/import/launch/shell/slurm.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::shell {

bool is_script_name(std::string_view file) {
  constexpr std::array kEndings = {".sh", ".bash", ".zsh", ".slurm", ".slrm", ".sbatch", ".job"};
  return std::ranges::any_of(kEndings, [&](const char* ending) { return file.ends_with(ending); });
}

bool handles_files(const Command& command) {
  constexpr std::array kTools = {"sed",  "cat",  "envsubst", "cp",   "mv",    "ln",  "awk", "grep",  "head", "tee",
                                 "tail", "echo", "diff",     "less", "rsync", "scp", "rm",  "touch", "jq",   "yq"};
  return !command.words.empty() &&
         std::ranges::find(kTools, std::filesystem::path(command.words.front()).filename()) != kTools.end();
}

namespace {

std::string whole_path(const Script& script, const std::string& name) {
  return (std::filesystem::path(script.variables.folder) / name).lexically_normal().string();
}

}  // namespace

void Script::forget(const std::string& name, const std::string& place) {
  const std::string whole = whole_path(*this, name);
  std::erase_if(documents, [&](const auto& one) { return whole_path(*this, one.first) == whole; });
  unread.insert_or_assign(whole, place);
}

const std::string* Script::unread_by(const std::string& name) const {
  if (unread.empty() || name.empty()) return nullptr;
  const auto found = unread.find(whole_path(*this, name));
  return found == unread.end() ? nullptr : &found->second;
}

void Script::write(const std::string& name, std::string text) {
  if (!unread.empty()) unread.erase(whole_path(*this, name));
  if (documents.insert_or_assign(name, std::move(text)).second) written.push_back(name);
}

std::optional<Script> read_script_text(const std::string& text, const std::string& file, const std::string& folder,
                                       const Given& given, Findings& findings) {
  Script script;
  // Absolute, so that $(dirname "$0")/other.sh is found from every folder.
  std::error_code error;
  const std::filesystem::path whole =
      std::filesystem::absolute(folder.empty() ? "." : folder, error).lexically_normal();
  script.variables.folder = whole.string();
  script.variables.script = (whole / file).string();
  script.variables.arguments = given.arguments;
  script.variables.arguments_stated = !given.arguments.empty();
  for (const auto& [name, value] : given.variables) {
    script.variables.set(name, {value});
    script.variables.fixed.insert(name);
  }
  const std::string marked = without_marks(text);
  script.scheduler = slurm_directives(marked);
  script.variables.under_slurm = !script.scheduler.empty();
  script.variables.under_pbs = ("\n" + marked).find("\n#PBS") != std::string::npos;
  script.variables.scheduler = slurm_variables(script.scheduler);
  script.variables.machine.devices = given.devices;
  script.variables.scheduler.merge(variables_of_other_jobs(marked, script.variables.machine));
  Budget budget;
  Interpreter interpreter(script, budget, findings);
  interpreter.options_of_first_line(marked);
  interpreter.run(marked, file);
  if (budget.spent) {
    findings.complaints.push_back(
        {file, "",
         "the script does too much to be read: loops, included files or texts without an end; try the "
         "command line that it starts: foretoken import -- ARGUMENTS"});
    return std::nullopt;
  }
  return script;
}

std::optional<Script> read_script(const std::filesystem::path& path, const Given& given, Findings& findings) {
  const auto text = read_text_file(path, printable(path.string()), findings);
  if (!text) return std::nullopt;
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  return read_script_text(*text, printable(path.filename().string()), folder, given, findings);
}

}  // namespace foretoken::io::shell

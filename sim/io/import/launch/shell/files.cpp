// Finds the files that a script reads, and reads the scripts that it sources or starts.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/inner_shell.h"
#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/other_jobs.h"
#include "sim/io/import/launch/shell/path_above.h"
#include "sim/io/import/launch/shell/slurm.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::shell {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 64;
constexpr std::ptrdiff_t kMostStarts = 2;  // of a script within itself: on every host, or first as a job

bool reads_jobs(std::string_view command) { return command == "sbatch" || command == "bash" || command == "sh"; }

}  // namespace

std::optional<Interpreter::Found> Interpreter::found_file(const std::string& path, int levels) {
  constexpr std::uintmax_t kLargestScript = 4 << 20;
  std::error_code error;
  const auto [folder, whole] = path_above(path, script_.variables.folder, levels);
  if (budget_.spent || !fs::is_regular_file(whole, error) || fs::file_size(whole, error) > kLargestScript)
    return std::nullopt;
  const bool again = !files_.insert(whole.string()).second;  // loops copy "$0" in each round
  if (files_.size() > kMostFiles) budget_.spent = true;
  Findings unread;
  auto text = read_text_file(whole, printable(whole.string()), unread);
  if (!text) return std::nullopt;
  if (again) budget_.take(text->size());
  if (!again) script_.files.push_back(whole.string());
  findings_.files.insert(findings_.files.end(), unread.files.begin(), unread.files.end());
  return Found{without_marks(std::move(*text)), whole.lexically_normal().string(), folder.string()};
}

std::optional<std::string> Interpreter::text_of_file(const std::string& path) {
  auto found = found_file(path, 0);
  return found ? std::optional(std::move(found->text)) : std::nullopt;
}

// The text of a file that the script has written, or that stands on the disk.
std::optional<std::string> Interpreter::text_at(const std::string& path) {
  if (script_.unread_by(path) != nullptr) return std::nullopt;
  const auto written = script_.documents.find(path);
  return written == script_.documents.end() ? text_of_file(path) : std::optional(written->second);
}

// True for a file or a folder below the folder of the script, and for a file that the script has written.
bool Interpreter::is_beside(const std::string& path, bool folder) const {
  if (!folder && script_.documents.contains(path)) return true;
  const fs::path own = fs::path(script_.variables.folder).lexically_normal();
  const fs::path whole = (fs::path(path).is_absolute() ? fs::path(path) : own / path).lexically_normal();
  const fs::path below = whole.lexically_relative(own);
  std::error_code error;
  if (path.empty() || below.empty() || *below.begin() == "..") return false;
  return folder ? fs::is_directory(whole, error) : fs::is_regular_file(whole, error);
}

std::optional<std::string> Interpreter::text_beside(const std::string& path) {
  return !is_unknown(path) && is_beside(path, false) ? text_at(path) : std::nullopt;
}

// A template may stand in a folder above, from which the script is started.
std::optional<std::string> Interpreter::text_near(const std::string& path) {
  if (is_unknown(path) || script_.unread_by(path) != nullptr) return std::nullopt;
  if (auto text = text_beside(path)) return text;
  const fs::path plain = fs::path(path).lexically_normal();
  if (plain.empty() || plain.is_absolute() || *plain.begin() == "..") return std::nullopt;
  auto found = found_file(plain.string(), kFoldersAbove);
  return found ? std::optional(std::move(found->text)) : std::nullopt;
}

// A sourced file has its own $0, but the folder of paths stays that of the first script. Words behind the file are its
// arguments; without them it reads those of the script (bash(1), source).
void Interpreter::source(const Texts& words, Mode mode) {
  if (words.size() < 2) return;
  const std::string& path = words[1];
  const auto miss = [&](const std::string& file) {
    // A file that a certain line sources, too, is not doubtful.
    const bool listed = std::ranges::find(script_.missing, file) != script_.missing.end();
    if (mode == Mode::kRun) script_.doubtful.erase(file);
    if (mode == Mode::kOpen && !listed) script_.doubtful.insert(file);
    script_.missing.push_back(file);
  };
  if (is_unknown(path)) return miss(shown_unknown(path));
  auto found = found_file(path, 0);
  // Submissions of MLPerf keep common files in a folder of their own.
  if (!found) found = found_file((fs::path(path).parent_path() / "configs" / fs::path(path).filename()).string(), 0);
  if (!found) found = found_file(path, kFoldersAbove);
  if (!found) {
    if (!budget_.spent) miss(path);
    // Shells' own files and environments of Python set nothing that a launch reads.
    const std::string name = std::filesystem::path(path).filename().string();
    const bool own =
        name.find("conf") != name.npos || name.find("param") != name.npos || name.find("args") != name.npos;
    misses_settings_ = misses_settings_ || (own && path.front() != '/' && path.front() != '~');
    return;
  }
  Variables& variables = script_.variables;
  const std::string outer = std::exchange(variables.script, path);
  const Texts outer_arguments = variables.arguments;
  const bool has_arguments = words.size() > 2, outer_stated = variables.arguments_stated;
  if (has_arguments) {
    variables.arguments.assign(words.begin() + 2, words.end());
    variables.arguments_stated = true;
  }
  ++sources_;
  const std::size_t first = script_.commands.size();
  const Jump outer_doubt = std::exchange(doubt_, Jump::kNone);
  run(found->text, printable(fs::path(path).filename().string()));
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    script_.commands[i].certain = script_.commands[i].certain && mode == Mode::kRun;
  if (jump_ == Jump::kReturn) jump_ = Jump::kNone;
  doubt_ = outer_doubt;
  --sources_;
  variables.script = outer;
  if (!has_arguments) return;
  variables.arguments = outer_arguments;
  variables.arguments_stated = outer_stated;
}

// A script that is started does not change the variables of this one.
void Interpreter::start_script(const std::string& path, const Texts& arguments, Mode mode) {
  if (script_.unread_by(path) != nullptr) return record({path}, mode);
  const auto written = script_.documents.find(path);
  if (written != script_.documents.end())
    return start_text({written->second, path, script_.variables.folder}, arguments, mode);
  auto found = found_file(path, kFoldersAbove);
  // The script may name the place of its own folder on another machine.
  if (!found && fs::path(path).is_absolute()) found = found_file(fs::path(path).filename().string(), 0);
  found ? start_text(*found, arguments, mode) : record({path}, mode);
}

// Starts the script at words[file] with what the words before its shell state: mpirun -np 8 bash train.sh.
void Interpreter::start_by_launcher(const Texts& words, std::size_t shell, std::size_t file, Mode mode) {
  const std::size_t first = script_.commands.size();
  const Texts outer_launcher = std::exchange(launcher_, launcher_before(words, shell));
  const Texts arguments(words.begin() + static_cast<std::ptrdiff_t>(file + 1), words.end());
  start_script(words[file], arguments, mode);
  launcher_ = outer_launcher;
  // A program among the arguments that the script does not start, as far as it can be read: its flags count.
  const auto program = std::ranges::find_if(arguments, [](const std::string& word) { return word.ends_with(".py"); });
  const auto begin = script_.commands.begin() + static_cast<std::ptrdiff_t>(first);
  const bool started = std::any_of(begin, script_.commands.end(), [&](const Command& one) {
    return program != arguments.end() && std::ranges::find(one.words, *program) != one.words.end();
  });
  if (starts_processes(words[0]) && program != arguments.end() && !started) {
    script_.commands.resize(first);
    return record(words, mode);
  }
  const auto processes = count_of_processes(words, shell);
  for (std::size_t i = first; processes && i < script_.commands.size(); ++i) {
    const bool torchrun = std::ranges::any_of(script_.commands[i].words, [](const std::string& word) {
      return fs::path(word).filename() == "torchrun" || word.starts_with("torch.distributed.");
    });
    script_.commands[i].scheduler.insert_or_assign(
        std::string(process_launcher(words)) + (torchrun ? " nnodes" : " nproc-per-node"), *processes);
  }
}

void Interpreter::start_text(const Found& file, const Texts& arguments, Mode mode) {
  if (std::ranges::count(started_, file.place) >= kMostStarts) return;
  started_.push_back(file.place);
  const Variables outer = script_.variables;
  budget_.copy(outer);
  const Jump outer_doubt = std::exchange(doubt_, Jump::kNone);
  const int outer_loops = std::exchange(loops_, 0);
  const bool outer_fails = std::exchange(unset_fails_, false);
  const std::size_t first = script_.commands.size();
  script_.variables.script = file.place;
  script_.variables.folder = file.folder;
  script_.variables.arguments = arguments;
  script_.variables.arguments_stated = true;
  const std::map<std::string, std::string> outer_job = job_;
  for (const auto& [name, value] : slurm_directives(file.text)) job_.insert_or_assign(name, value);
  std::map<std::string, std::string> options = script_.scheduler;
  options.insert(job_.begin(), job_.end());
  script_.variables.under_slurm = !options.empty();
  script_.variables.scheduler = slurm_variables(options);
  script_.variables.scheduler.merge(variables_of_other_jobs(file.text, script_.variables.machine));
  run(file.text, printable(fs::path(file.place).filename().string()));
  jump_ = Jump::kNone;
  doubt_ = outer_doubt;
  loops_ = outer_loops;
  unset_fails_ = outer_fails;
  script_.variables = outer;
  for (std::size_t i = first; i < script_.commands.size(); ++i)
    script_.commands[i].certain = script_.commands[i].certain && mode == Mode::kRun;
  job_ = outer_job;
  started_.pop_back();
}

// sbatch <<END, and cat <<END | bash: the job is the text.
bool Interpreter::start_piped_job(const Texts& words, const std::string& text, Mode mode) {
  if (text.empty() || !reads_jobs(words[0])) return false;
  if (words[0] == "sbatch") scheduler_options(words);
  // yes | bash -c '...': the text is input of that job.
  const bool wraps = std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--wrap"); });
  if (wraps || (words[0] != "sbatch" && text_of_shell(words, 0))) return false;
  if (std::ranges::any_of(words, is_script_name)) return false;
  start_text({text, script_.variables.script, script_.variables.folder}, {}, mode);
  return true;
}

void Interpreter::scheduler_options(const Texts& words) {
  // Options of sbatch and srun whose value may be the next word (sbatch(1), srun(1), pyxis).
  constexpr std::string_view kCounts[] = {"--nodes", "--ntasks",        "--ntasks-per-node", "--gpus",
                                          "--gres",  "--gpus-per-node", "--gpus-per-task",   "--cpus-per-task"};
  constexpr std::string_view kOthers[] = {"--account",
                                          "--chdir",
                                          "--constraint",
                                          "--container-image",
                                          "--container-mounts",
                                          "--container-name",
                                          "--error",
                                          "--export",
                                          "--job-name",
                                          "--container-workdir",
                                          "--mem",
                                          "--mpi",
                                          "--nodelist",
                                          "--output",
                                          "--partition",
                                          "--qos",
                                          "--time"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) break;
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const bool alone = equals == std::string::npos && i + 1 < words.size();
    const bool short_name = alone && name.size() == 2;
    if (equals != std::string::npos)
      script_.scheduler[name] = words[i].substr(equals + 1);
    else if (alone && std::ranges::find(kCounts, name) != std::end(kCounts))
      script_.scheduler[name] = words[++i];
    else if (alone && std::ranges::find(kOthers, name) != std::end(kOthers))
      ++i;
    else if (short_name && std::string_view("NnG").find(name[1]) != std::string_view::npos)
      script_.scheduler[name] = words[++i];
    else if (short_name && std::string_view("pAJoet").find(name[1]) != std::string_view::npos)
      ++i;
  }
}

}  // namespace foretoken::io::shell

// Reads a shell script without executing anything: its variables, and the commands that it would start.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/import/launch/shell/variables.h"
#include "sim/io/json/node.h"

namespace foretoken::io::shell {

/// A command that the script starts, with its words expanded.
struct Command {
  Texts words{};
  std::string file = "";
  int line = 1;
  bool certain = true;                             ///< false inside a condition that no reading can decide
  std::map<std::string, std::string> scheduler{};  ///< Slurm's options under which it runs: {"--nodes": "4"}
  Texts empties{};  ///< reasons for words that are empty here and may hold something in a run: "the script's arguments"
  std::int64_t devices = 0;  ///< of CUDA_VISIBLE_DEVICES; 0 where nothing states them

  /// Returns "run.sh:12"; the file alone for a line of 0.
  [[nodiscard]] std::string place() const { return line > 0 ? file + ':' + std::to_string(line) : file; }
};

/// The texts that branches of open conditions give a variable, and the reasons why these conditions are open:
/// "argument 16 of the script".
struct Alternatives {
  std::set<std::string> texts{}, reasons{};
};

/// Stand before the name of a count that a launcher of processes states, among the options of a scheduler:
/// "mpirun nnodes".
inline constexpr std::string_view kProcessLaunchers[] = {"mpirun ", "flux run "};

/// Names the program that starts the shell of a command on other machines, among the options of a scheduler.
inline constexpr std::string_view kStartedBy = "started-by";

/// A script as read.
struct Script {
  std::vector<Command> commands{};
  Variables variables{};
  std::map<std::string, std::string> scheduler{};  ///< Slurm's options: of #SBATCH lines, and of sbatch commands
  std::vector<std::string> missing{};              ///< sourced files that are not there
  std::set<std::string> doubtful{};                ///< those that only branches of open conditions source
  std::vector<std::string> files{};                ///< that were read
  std::set<std::string> empties{};                 ///< variables that nobody sets, and that conditions take as empty
  std::set<std::string> passed_checks{};           ///< empty variables for whose want checks would end the script
  std::map<std::string, std::string> documents{};  ///< the files that the script writes: "ds_config.json" (edit.cpp)
  Texts written{};                                 ///< their names, in the order of the script
  std::map<std::string, std::string> unread{};     ///< by their whole path: files of which the text is not known
  bool continued = false;  ///< a blank stands behind the backslash of a line, and the next line is read as its part
  std::map<std::string, Alternatives, std::less<>> alternatives{};  ///< by variable
  std::set<std::string, std::less<>> options{};  ///< words with which the script compares an argument: "--tp"

  /// Keeps the text of a file that the script writes.
  void write(const std::string& name, std::string text);

  /// Notes that the command at `place` writes a text into a file that no reading can know.
  void forget(const std::string& name, const std::string& place);

  /// Returns the place of the last command that did so: "run.sh:12". Null where the text of the file may be known.
  [[nodiscard]] const std::string* unread_by(const std::string& name) const;
};

/// Facts that the user states beside the file.
struct Given {
  std::vector<std::pair<std::string, std::string>> variables{};  ///< keep their value, whatever the script assigns
  Texts arguments{};                                             ///< $1, $2, ...
  std::int64_t devices = 0;                                      ///< GPUs of a node; 0 where nobody states them
};

/// Returns true for the name of a shell script or of a scheduler's job: "train.sh", "run.bash", "pretrain.slurm".
[[nodiscard]] bool is_script_name(std::string_view file);

/// Returns true for a command that writes, copies or shows files, and trains nothing: sed, cp.
[[nodiscard]] bool handles_files(const Command& command);

/// Reads the script at `path` and the files that it sources. Complains, and returns nothing, about a file that cannot
/// be read and about work without an end.
///
/// Nothing is executed. Bodies of command substitutions are read as the rest (printed.cpp). Unknown are the outputs of
/// programs, input, and tests of files.
/// Branches of an open condition are both read. A variable that differs between them is unknown afterwards.
[[nodiscard]] std::optional<Script> read_script(const std::filesystem::path& path, const Given& given,
                                                Findings& findings);

/// Reads a script from its text. Sourced files are looked for in `folder`.
[[nodiscard]] std::optional<Script> read_script_text(const std::string& text, const std::string& file,
                                                     const std::string& folder, const Given& given, Findings& findings);

}  // namespace foretoken::io::shell

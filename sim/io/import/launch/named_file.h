// Scripts that start a training by its configuration: llamafactory-cli train config.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// The configurations that a command of a script names.
struct NamedFile {
  std::vector<std::filesystem::path> paths{};     ///< one or more
  std::optional<std::string> text{};              ///< of the first, where the script itself writes it
  std::vector<std::string> overrides{};           ///< KEY=VALUE and --KEY.KEY VALUE behind it
  std::optional<std::int64_t> gpus{};             ///< of the launcher
  std::optional<std::int64_t> gpus_of_machine{};  ///< of the launcher, too
  std::string refused_hosts = "";                 ///< the reason why the launcher refuses its file of hosts
  std::vector<std::string> without_value{};       ///< such flags whose value may be one of the command's empty words
  bool flags_as_keys = false;                     ///< flags stand behind the file of LLaMA-Factory
  bool launched = false;                          ///< a launcher starts the command, not python alone
  bool states_nodes = false;                      ///< the launcher or the scheduler counts nodes, or all processes
  std::string place{};                            ///< "run.sh:12"
  shell::Command command{};                       ///< that names it
  bool keys_alone = false;                        ///< the configuration below the overrides is not there
};

/// Returns the YAML or TOML files that one command of the script names; nothing for none.
[[nodiscard]] std::optional<NamedFile> file_of_command(const shell::Script& script, const shell::Command& command,
                                                       const std::string& folder);

/// Returns the YAML or TOML files that commands name and that are there: written by the script, below `folder`, or
/// beside the script by their own names. Files of accelerate say how to launch, and are passed over, as are commands
/// that prepare data. Where there is none: the experiment of Primus in the variable EXP, or the KEY=VALUE words behind
/// a program of NeMo or Megatron-Bridge.
[[nodiscard]] std::vector<NamedFile> files_of_script(const shell::Script& script, const std::string& folder);

/// Returns true for a command that prepares data: axolotl preprocess.
[[nodiscard]] bool prepares(const shell::Command& command);

/// Notes that a file is read in place of the script, or words alone in place of a file that is not there.
void note_configuration(const NamedFile& named, Report& report);

/// Returns the YAML and TOML files of a framework that here documents of the script write, in its order. For scripts
/// that start nothing themselves.
[[nodiscard]] std::vector<NamedFile> files_written(const shell::Script& script, const std::string& folder);

/// Words the complaint where no named file is there: "run.sh:3 names llama3/8B_lora, which is not there; put ...";
/// empty where no command names a configuration.
[[nodiscard]] std::string missing_configuration(const shell::Script& script);

/// Notes how many commands name a configuration that is not there, beside one that is read.
void note_missing_configurations(const shell::Script& script, const std::string& folder, Report& report);

/// Words the complaint where nobody states an argument of the training program that may be its configuration: "run.sh:3
/// starts own.py, which no reader here knows, with argument 1 of the script; if that is its configuration, state it
/// after --". Empty where none is left open.
[[nodiscard]] std::string unstated_configuration(const shell::Script& script);

/// Words the complaint where a script that is started is not there, or where nobody sets a variable of its name:
/// "run.sh:8 starts train.sh, which is not there; put ...". Empty where all are there.
[[nodiscard]] std::string missing_script(const shell::Script& script);

/// Returns the programs and modules of Python that a script starts, up to three: "torchrun_main.py". Empty for none.
[[nodiscard]] std::string programs_of(const shell::Script& script);

}  // namespace foretoken::io::launch

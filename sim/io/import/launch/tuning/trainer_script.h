// Shell scripts that start a training by Hugging Face's Trainer: torchrun, deepspeed, accelerate launch or python with
// a program that takes --model_name_or_path and --per_device_train_batch_size.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Returns true for a command that trains by its flags. LLaMA-Factory's with a file is none.
[[nodiscard]] bool trains(const shell::Command& command);

[[nodiscard]] bool is_trainer_script(const shell::Script& script);

/// Makes a scenario of a command of the script; `row` chooses among several. `folder` is the script's: files of
/// DeepSpeed and accelerate are looked for there. `flags` follow those of the command. `gpus` overrules the launcher.
void read_trainer_script(const shell::Script& script, const std::string& folder, const std::string& row,
                         const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report);

/// Makes a scenario of one command of the script, whether it trains or not.
void read_trainer_command(const shell::Script& script, const shell::Command& command, const std::string& folder,
                          const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report);

[[nodiscard]] bool starts_by_accelerate(const shell::Command& command);

/// Reads a file of the Trainer's arguments that a command of accelerate names. The file and the options of accelerate
/// decide about sharding where the arguments do not.
void read_trainer_file(const shell::Script& script, const shell::Command& command, const std::string& folder,
                       Json document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::tuning

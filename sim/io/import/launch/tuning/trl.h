// TRL: its command line, which starts accelerate by itself (trl sft --accelerate_config zero2), and its defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Returns true for the words of a command that trl starts.
[[nodiscard]] bool is_trl(const std::vector<std::string>& words);

/// Returns true for the words of TRL's own programs. There is at least one word.
[[nodiscard]] bool is_program_of_trl(const std::vector<std::string>& program);

/// Takes the options of accelerate out of the arguments of such a command, and adds them to `launched`. A named profile
/// becomes the options that it stands for. Sets `gpus` where nothing else states them.
void take_options_of_trl(const shell::Command& command, Json& document, LaunchedProgram& launched,
                         std::optional<std::int64_t>& gpus);

/// Returns true for a file of arguments with keys that only TRL has.
[[nodiscard]] bool is_document_of_trl(const Json& document);

/// Makes a scenario of TRL's arguments. Defaults differ from the Trainer's and by version; asks where nothing tells it.
void read_arguments_of_trl(Json document, std::optional<std::int64_t> gpus, const Json* deepspeed, Report& report);

}  // namespace foretoken::io::launch::tuning

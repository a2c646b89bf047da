// The command line of TRL, which starts accelerate by itself: trl sft --accelerate_config zero2.
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

/// Takes the options of accelerate out of the arguments of such a command, and adds them to `launched`. A named profile
/// becomes the options that it stands for. Sets `gpus` where nothing else states them.
void take_options_of_trl(const shell::Command& command, Json& document, LaunchedProgram& launched,
                         std::optional<std::int64_t>& gpus);

}  // namespace foretoken::io::launch::tuning

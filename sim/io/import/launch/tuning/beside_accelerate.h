// The facts that accelerate's file and options state about a program that `accelerate launch` starts.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Adds what accelerate's file and options say, where the program's own arguments do not. Returns what the file says.
/// `with_config` is true where a DeepSpeed configuration decides about the sharding. A DeepSpeed file that accelerate's
/// file names is left to add_deepspeed_of_accelerate().
[[nodiscard]] Report add_accelerate(const shell::Script& script, const LaunchedProgram& launched,
                                    const std::string& folder, bool with_config, Json& document, Report& report);

/// Adds --deepspeed FILE to arguments without one: the file of --deepspeed_config_file, or the one that accelerate's
/// file names, from the folder of the launch or from its own. Returns true where accelerate's file names it.
[[nodiscard]] bool add_deepspeed_of_accelerate(const shell::Script& script, const LaunchedProgram& launched,
                                               const std::string& folder, std::vector<Argument>& arguments);

}  // namespace foretoken::io::launch::tuning

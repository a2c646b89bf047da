// Reads the command line of ms-swift's Megatron as Megatron-LM's flags.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Returns true for "megatron sft ...", "megatron pt ..." and "megatron rlhf ...".
[[nodiscard]] bool is_swift_command(const shell::Command& command);

/// Renames arguments, and adds the defaults that differ from Megatron-LM's.
void become_megatron(std::vector<Argument>& arguments);

/// Takes the model of the name that --model or --load states, in place of the one that the flags would make up.
void map_swift_model(const shell::Command& command, const std::vector<Argument>& arguments, Report& report);

}  // namespace foretoken::io::launch::megatron

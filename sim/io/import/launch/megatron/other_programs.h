// Tells programs that share names of flags with Megatron-LM.
#pragma once

#include <string_view>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Returns what a command starts that states its model in other flags than Megatron-LM, as a sentence goes on behind
/// "the script starts": "fairseq or metaseq", "a program of its own, which ...". Empty for all others.
[[nodiscard]] std::string_view started_instead(const shell::Command& command);
/// Returns it for the first such command of a script.
[[nodiscard]] std::string_view started_instead(const shell::Script& script);

/// Returns true for a script whose sizes (--num-layers, --hidden-size) go to such a program.
[[nodiscard]] bool gives_sizes_away(const shell::Script& script);

}  // namespace foretoken::io::launch::megatron

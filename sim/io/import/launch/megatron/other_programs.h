// Tells programs that share names of flags with Megatron-LM.
#pragma once

#include <string_view>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Returns the name of a program that states its model in other flags than Megatron-LM: "fairseq or metaseq". Empty for
/// all others.
[[nodiscard]] std::string_view other_program_of(const shell::Command& command);
/// Likewise, for the first such command of a script.
[[nodiscard]] std::string_view other_program_of(const shell::Script& script);

}  // namespace foretoken::io::launch::megatron

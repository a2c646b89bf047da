// Tells how much a command says of its training, and asks for what words that nobody knows may say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::megatron {

/// Returns the number of flags that Megatron-LM reads.
[[nodiscard]] std::ptrdiff_t known_flags(const shell::Command& command);

/// Returns true for a command too short to show by itself that it is one of Megatron-LM.
[[nodiscard]] bool shows_little(const shell::Command& command);

/// Returns true for a command of pretrain_gpt.py some of whose words are not known, as they may hold its flags, or that
/// has a flag of Megatron-LM.
[[nodiscard]] bool leaves_flags_open(const shell::Command& command);

/// Returns the reason for a word of the program that nobody knows, and that may hold its flags: "the output of `f`".
/// Empty without one. The value of a flag is no such word, where a rule has read it or the flag's name tells that it
/// takes one, nor are branches and arguments of the script that nobody states.
[[nodiscard]] std::string why_flags_are_open(const std::vector<std::string>& program, const Report& report);

/// Asks for the layers of multi-token prediction, in the place of the refusal of a layout that has some, where no flag
/// states them.
void ask_for_predictions(const std::string& because, Report& report);

/// Asks, with the reason, for what decides about time and memory in the place of the defaults that are assumed.
void ask_for_defaults(const std::string& because, Report& report);

/// Asks, with the reason, for what files of Primus that are not there may state, in the place of the defaults.
void ask_for_settings_of_files(const std::string& because, Report& report);

/// Asks for what the flags leave to the checkpoint that a run starts from, in the place of the model's assumed
/// defaults.
void leave_model_to_checkpoint(const Flags& flags);

/// Asks for what the flags of a command decide that shows little or has such a word, in the place of the defaults that
/// are assumed.
void ask_for_open_flags(const shell::Command& command, const std::vector<std::string>& program, Report& report);

}  // namespace foretoken::io::launch::megatron

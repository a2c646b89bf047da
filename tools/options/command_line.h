// The command line of a command, as a user can repeat it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace foretoken::tools {

/// Returns a word as a shell reads it: quoted where it holds more than letters, digits and -_=+./,:@.
[[nodiscard]] std::string shell_word(const std::string& text);

/// Returns "foretoken plan my.json --tokens 300B": the given options of a parsed command, quoted for a shell.
[[nodiscard]] std::string command_line(const CLI::App& command);

}  // namespace foretoken::tools

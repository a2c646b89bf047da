// The command line of a command, as a user can repeat it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace foretoken::tools {

/// Returns a word as a shell reads it: quoted where it holds more than letters, digits and -_=+./,:@.
[[nodiscard]] std::string shell_word(const std::string& text);

/// Returns "foretoken plan my.json --tokens 300B": the given options of a parsed command, quoted for a shell.
[[nodiscard]] std::string command_line(const CLI::App& command);

/// Returns the words of a command for a shell, each option with its value: "--gpus 8".
[[nodiscard]] std::vector<std::string> with_values(const std::vector<std::string>& words);

/// Writes units of a command, such as "--gpus 8", on lines of at most `columns` that a shell reads as one. Lines after
/// the first are indented by four more columns. A unit is never cut.
[[nodiscard]] std::string shell_lines(const std::vector<std::string>& units, std::size_t indent, std::size_t columns);

}  // namespace foretoken::tools

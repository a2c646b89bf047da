// Options that several subcommands share, and checks of their values in our own words.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace foretoken::tools {

/// Adds --color.
void add_colour_option(CLI::App& command, std::string& choice);

inline constexpr int kRefused = 1;  ///< exit status: the answer is no

/// Adds --strict.
void add_strict_option(CLI::App& command, bool& strict);

/// Adds --interval: the level of intervals in percent, one of trust::kLevels.
void add_interval_option(CLI::App& command, int& percent);

/// One of these words, or "expected stage or kernel, found ...; did you mean ...?".
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

/// A whole number in a range.
[[nodiscard]] CLI::Validator whole_number(std::int64_t low, std::int64_t high);

/// A finite number in a range.
[[nodiscard]] CLI::Validator number_between(double low, double high);

}  // namespace foretoken::tools

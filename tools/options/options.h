// Options that several subcommands share, and checks of option values.
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

/// The form of an answer.
enum class Form : std::uint8_t { kText, kJson, kCsv };

/// Adds --json and --csv. Both at once are refused.
void add_form_options(CLI::App& command, Form& form);

/// Adds --interval: the level of the interval in percent, one of trust::kLevels.
void add_interval_option(CLI::App& command, int& percent);

/// Accepts one of these words. Complains otherwise: "expected stage or kernel, found ...; did you mean ...?".
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

/// Accepts a whole number from `low` to `high`.
[[nodiscard]] CLI::Validator whole_number(std::int64_t low, std::int64_t high);

/// Accepts a finite number from `low` to `high`.
[[nodiscard]] CLI::Validator number_between(double low, double high);

}  // namespace foretoken::tools

// Helpers that find numbers, clocks and words in one line of a log.
#pragma once

#include <optional>
#include <string_view>

namespace foretoken::io::log {

/// Returns the rest of `line` behind the first `key`, without blanks, colons and equal signs in front. Returns nothing
/// where the line has no `key`.
[[nodiscard]] std::optional<std::string_view> after(std::string_view line, std::string_view key);

/// Returns the number behind `key`: "tps: 10,050" is 10050, and "14.2K" is 14200.
[[nodiscard]] std::optional<double> number_after(std::string_view line, std::string_view key);

/// Returns the number above 0 behind `key`.
[[nodiscard]] std::optional<double> positive_after(std::string_view line, std::string_view key);

/// Returns the number above 0 behind `key` of a program that never groups thousands: a comma is the point of another
/// language, "5002,1".
[[nodiscard]] std::optional<double> ungrouped_after(std::string_view line, std::string_view key);

/// Returns the seconds of a clock such as "2024-01-17 13:47:27,508" or "01/17/2024 13:47:27" near the front of `line`.
[[nodiscard]] std::optional<double> clock_in(std::string_view line);

[[nodiscard]] inline bool has(std::string_view line, std::string_view word) { return line.find(word) != line.npos; }

}  // namespace foretoken::io::log

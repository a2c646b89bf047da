// Reads numbers from text: one parser for all rooms.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace foretoken {

template <class T>
concept Arithmetic = std::integral<T> || std::floating_point<T>;

/// Takes a number off the front of `text`: of "16.0 GT/s" it returns 16 and leaves " GT/s". Returns nothing, and leaves
/// `text` as it was, when no number in [low, high] stands there. Numbers are decimal under every locale.
///
/// Refused: a plus sign, blanks in front, infinity, NaN, and a minus sign where no number below 0 may stand.
template <Arithmetic T>
[[nodiscard]] std::optional<T> take_number(std::string_view& text, T low = std::numeric_limits<T>::lowest(),
                                           T high = std::numeric_limits<T>::max()) {
  if (low >= 0 && text.starts_with('-')) return std::nullopt;
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool in_range = value >= low && value <= high;  // false for NaN
  if (error != std::errc{} || !in_range) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

/// Returns the number in [low, high] that all of `text` states, or nothing.
template <Arithmetic T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text, T low = std::numeric_limits<T>::lowest(),
                                            T high = std::numeric_limits<T>::max()) {
  const std::optional<T> value = take_number<T>(text, low, high);
  return text.empty() ? value : std::nullopt;
}

/// Returns the number above 0 that all of `text` states, or nothing.
[[nodiscard]] inline std::optional<double> parse_positive(std::string_view text) {
  return parse_number<double>(text, std::numeric_limits<double>::denorm_min());
}

/// Rounds to `digits` significant decimal digits: 1234.6 to three digits is 1230.
[[nodiscard]] double round_to_digits(double value, int digits);

}  // namespace foretoken

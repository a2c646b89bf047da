// Texts with parts that no reading can know: the output of a command, an argument of a script.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken::io::shell {

/// Encloses the reason for an unknown part inside a text. No text file of a user holds this control character.
inline constexpr char kUnknown = '\x1f';

/// Returns a text of which nothing is known, with the reason in a few words: "the output of `date`".
[[nodiscard]] inline std::string unknown_because(std::string_view reason) {
  constexpr std::size_t kLongest = 80;
  std::string text(1, kUnknown);
  for (const char c : reason.substr(0, kLongest)) text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return text + kUnknown;
}

/// Begins the reason for a variable that branches change; its name follows.
inline constexpr std::string_view kOpenCondition = "a variable that depends on an open condition: ";

/// Returns the reason for an argument of the script that nobody stated.
[[nodiscard]] inline std::string unstated_argument(std::size_t number) {
  return "argument " + std::to_string(number) + " of the script";
}

/// Returns true for such a reason.
[[nodiscard]] inline bool is_unstated_argument(std::string_view reason) {
  return reason.starts_with("argument ") && reason.ends_with(" of the script");
}

/// Returns a text without the arguments of the script that nobody stated; nothing where another part is unknown.
[[nodiscard]] inline std::optional<std::string> without_unstated_arguments(std::string_view text) {
  std::string known;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find(kUnknown, at), text.size());
    known += text.substr(at, begin - at);
    if (begin == text.size()) break;
    const std::size_t end = std::min(text.find(kUnknown, begin + 1), text.size());
    if (!is_unstated_argument(text.substr(begin + 1, end - begin - 1))) return std::nullopt;
    at = end + 1;
  }
  return known;
}

/// Returns true for a text of such arguments alone: TP after TP=$1. The shell takes it as empty without them.
[[nodiscard]] inline bool holds_only_unstated(std::string_view text) {
  return text.find(kUnknown) != text.npos && without_unstated_arguments(text) == "";
}

/// Ends the reason for a variable that no line of the script sets: the environment of the run may hold it.
inline constexpr std::string_view kUnset = ", which the script does not set";

/// Ends the reason for ${NAME:-} in a condition, where no line of the script sets NAME.
inline constexpr std::string_view kEmptyDefault = ", which the script takes as empty";

/// Returns true for a text that is one unknown part and nothing else, whose reason ends with `end`.
[[nodiscard]] inline bool is_one_unknown(std::string_view text, std::string_view end) {
  if (text.size() < 2 || text.front() != kUnknown || text.find(kUnknown, 1) != text.size() - 1) return false;
  return text.substr(0, text.size() - 1).ends_with(end);
}

/// Returns true for the text of ${NAME:-} alone, where nothing sets NAME.
[[nodiscard]] inline bool is_empty_default(std::string_view text) { return is_one_unknown(text, kEmptyDefault); }

[[nodiscard]] inline std::string unset_variable(std::string_view name) {
  return unknown_because(std::string(name) + std::string(kUnset));
}

[[nodiscard]] inline bool is_unknown(std::string_view text) { return text.find(kUnknown) != text.npos; }

/// Returns the reason of the first unknown part; empty when all is known.
[[nodiscard]] inline std::string why_unknown(std::string_view text) {
  const std::size_t begin = text.find(kUnknown);
  if (begin == text.npos) return "";
  const std::size_t end = text.find(kUnknown, begin + 1);
  return std::string(text.substr(begin + 1, end == text.npos ? end : end - begin - 1));
}

/// Returns true for the value of one variable that the script does not set.
[[nodiscard]] inline bool is_unset(std::string_view text) { return is_one_unknown(text, kUnset); }

/// Returns the name of such a variable.
[[nodiscard]] inline std::string name_of_unset(std::string_view text) {
  return std::string(text.substr(1, text.size() - 2 - kUnset.size()));
}

/// Returns the text with every unknown part as <...>.
[[nodiscard]] inline std::string shown_unknown(std::string_view text) {
  std::string shown;
  bool inside = false;
  for (const char c : text) {
    if (c != kUnknown) {
      if (!inside) shown += c;
      continue;
    }
    inside = !inside;
    if (inside) shown += "<...>";
  }
  return shown;
}

/// Removes the marks from a text of a file, which could otherwise pretend to be unknown, and the returns of Windows.
[[nodiscard]] inline std::string without_marks(std::string text) {
  std::erase(text, '\r');
  std::ranges::replace(text, kUnknown, ' ');
  return text;
}

}  // namespace foretoken::io::shell

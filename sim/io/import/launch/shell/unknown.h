// Texts with parts that no reading can know: the output of a command, an argument of a script.
#pragma once

#include <algorithm>
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

[[nodiscard]] inline bool is_unknown(std::string_view text) { return text.find(kUnknown) != text.npos; }

/// Returns the reason of the first unknown part; empty when all is known.
[[nodiscard]] inline std::string why_unknown(std::string_view text) {
  const std::size_t begin = text.find(kUnknown);
  if (begin == text.npos) return "";
  const std::size_t end = text.find(kUnknown, begin + 1);
  return std::string(text.substr(begin + 1, end == text.npos ? end : end - begin - 1));
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

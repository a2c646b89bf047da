// Text for complaints: values echoed on one printable line, and the word that was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace foretoken {

/// `text` on one line: control, invisible and direction-changing characters become \u escapes, bytes that are not UTF-8
/// become \x escapes. More than `limit` characters are cut, and "..." added.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 1000);

/// No limit of printable().
inline constexpr std::size_t kAnyLength = static_cast<std::size_t>(-1);

/// Text of any size for the screen or a file: as printable(), but lines stay lines, tabs stay tabs and the colours of
/// Paint stay colours. JSON stays the same JSON, because its strings may hold the escapes.
[[nodiscard]] std::string harmless(std::string_view text);

/// printable() in double quotes, short enough to stand in a sentence.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Offset of the first byte that is not part of valid UTF-8 (RFC 3629), if there is one.
[[nodiscard]] std::optional<std::size_t> invalid_utf8(std::string_view text);

/// Edits that turn `a` into `b`: insert, delete, replace, swap neighbours (Damerau-Levenshtein, optimal string
/// alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that `word` was probably meant to be: the first one that it begins, or else the one with the fewest
/// edits, if they are few.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean "X"?" for the nearest candidate, or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// "a", "a or b", "a, b or c".
[[nodiscard]] std::string either(std::span<const std::string> words);

}  // namespace foretoken

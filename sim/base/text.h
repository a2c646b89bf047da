// Text for complaints: values on one printable line, and the word that was probably meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

/// Returns `text` on one line. Control, invisible and direction-changing characters become \u escapes. Bytes that are
/// not UTF-8 become \x escapes. Longer text is cut after `limit` characters, and "..." follows.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 1000);

/// No limit of printable().
inline constexpr std::size_t kAnyLength = static_cast<std::size_t>(-1);

/// Makes text of any size fit for a screen or a file, as printable() does. Lines stay lines, tabs stay tabs, and the
/// colours of Paint stay colours. JSON stays the same JSON, because its strings may hold the escapes.
[[nodiscard]] std::string harmless(std::string_view text);

/// Returns `text` with ASCII letters in lower case.
[[nodiscard]] std::string lower_case(std::string_view text);

/// Returns the words of a name in lower case: its runs of ASCII letters and digits.
[[nodiscard]] std::vector<std::string> words_of_name(std::string_view name);

/// Returns true where `words`, parted by spaces with one before the first and behind the last, holds the word.
[[nodiscard]] bool holds_word(std::string_view words, std::string_view word);

/// Returns printable() in double quotes, short enough to stand in a sentence.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Returns the offset of the first byte that is not part of valid UTF-8 (RFC 3629), if there is one.
[[nodiscard]] std::optional<std::size_t> invalid_utf8(std::string_view text);

/// Counts the edits that turn `a` into `b`: insert, delete, replace, swap neighbours (Damerau-Levenshtein, optimal
/// string alignment).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate that `word` was probably meant to be. A candidate that begins with `word` comes first, then
/// one that has all its parts between hyphens: "dgx-a100-40gb-hdr" for "dgx-a100-hdr". The next choice is the candidate
/// with the fewest edits, if they are few.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// Returns "; did you mean "X"?" for the nearest candidate, or an empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// Lists the names that fit on the line of a complaint, the first always. It counts the others and says `where` all of
/// them stand: "a, b and 7 more (foretoken models list)".
[[nodiscard]] std::string first_names(std::span<const std::string> names, std::string_view where);

/// Returns did_you_mean(), or "; there are " and first_names() where nothing is like `word`.
[[nodiscard]] std::string meant_or_known(std::string_view word, std::span<const std::string> names,
                                         std::string_view where);

/// Returns "a", "a or b" or "a, b or c".
[[nodiscard]] std::string either(std::span<const std::string> words);

}  // namespace foretoken

// Makes user text safe to print, and finds the word that was probably meant.
#include "sim/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace foretoken {
namespace {

constexpr std::size_t kQuotedLimit = 48;

/// One decoded character; `bytes` is 0 when the text there is not UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

/// Decodes the character at the front of `text`. Refuses overlong forms, surrogates and codes beyond U+10FFFF.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t code = first & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, length};
}

/// Is false for characters that would break a line, vanish, or reorder the text, and for those that no XML may hold.
bool is_printable(std::uint32_t code) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  const bool control = code < 0x20 || within(0x7F, 0x9F);
  const bool invisible = within(0x200B, 0x200F) || code == 0x180E || code == 0xFEFF || code == 0xAD ||
                         within(0xFFF9, 0xFFFB) || within(0xE0000, 0xE007F);
  const bool separator = within(0x2028, 0x202E);
  const bool direction = code == 0x061C || within(0x2060, 0x206F);
  const bool no_character = within(0xFDD0, 0xFDEF) || (code & 0xFFFEU) == 0xFFFE;
  return !(control || invisible || separator || direction || no_character);
}

/// \u202e, as JSON takes it: beyond 16 bits two halves.
std::string escape_of(std::uint32_t code) {
  if (code < 0x10000) return fmt::format("\\u{:04x}", code);
  const std::uint32_t rest = code - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
}

/// Moves the character at the front of `text` to the end of `out`, escaped where it must be.
void take_printable(std::string_view& text, std::string& out) {
  const Character character = decode(text);
  const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
  if (character.bytes == 0)
    out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
  else if (is_printable(character.code))
    out += text.substr(0, bytes);
  else
    out += escape_of(character.code);
  text.remove_prefix(bytes);
}

/// Bytes at the front of `text` that need no look: printable ASCII.
std::size_t plain_front(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7F) ++at;
  return at;
}

/// Bytes at the front of `text` below 0x80, counted eight at a time; a few may be left.
std::size_t ascii_front(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    if ((eight & kHighBits) != 0) break;
  }
  return at;
}

/// Bytes of "\033[1;32m" at the front of `text`: a colour, or its end; 0 for anything else.
std::size_t colour_front(std::string_view text) {
  if (!text.starts_with("\033[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

/// Returns true if `name` has all the parts of `word`, between hyphens, in their order: "dgx-a100-40gb-hdr" has those
/// of "dgx-a100-hdr".
bool has_parts_of(std::string_view name, std::string_view word) {
  while (true) {
    const std::size_t end = std::min(word.find('-'), word.size());
    const std::string_view part = word.substr(0, end);
    while (!name.empty() && !(name.starts_with(part) && (name.size() == end || name[end] == '-')))
      name.remove_prefix(std::min(name.find('-'), name.size() - 1) + 1);
    if (name.empty() || end == word.size()) return !name.empty();
    name.remove_prefix(std::min(end + 1, name.size()));
    word.remove_prefix(end + 1);
  }
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::vector<std::string> words_of_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(name)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool holds_word(std::string_view words, std::string_view word) {
  const auto is_blank = [&](std::size_t at) { return at < words.size() && words[at] == ' '; };
  for (std::size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1))
    if (at > 0 && is_blank(at - 1) && is_blank(at + word.size())) return true;
  return false;
}

std::string printable(std::string_view text, std::size_t limit) {
  if (text.size() <= limit && plain_front(text) == text.size()) return std::string(text);
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == limit) return out + "...";
    take_printable(text, out);
  }
  return out;
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t as_is = plain_front(text);
    if (as_is == 0) as_is = text[0] == '\n' || text[0] == '\t' ? 1 : colour_front(text);
    if (as_is == 0) {
      take_printable(text, out);
      continue;
    }
    out += text.substr(0, as_is);
    text.remove_prefix(as_is);
  }
  return out;
}

std::string in_quotes(std::string_view text) { return '"' + printable(text, kQuotedLimit) + '"'; }

std::optional<std::size_t> invalid_utf8(std::string_view text) {
  for (std::size_t at = ascii_front(text); at < text.size(); at += ascii_front(text.substr(at))) {
    const Character character = decode(text.substr(at));
    if (character.bytes == 0) return at;
    at += character.bytes;
  }
  return std::nullopt;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kLongestWord = 80;  // keeps hostile input from costing a quadratic time
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  constexpr std::size_t kTellingPrefix = 4;
  if (word.size() >= kTellingPrefix)
    for (const std::string& candidate : candidates)
      if (candidate.starts_with(word)) return candidate;
  if (word.find('-') != word.npos)
    for (const std::string& candidate : candidates)
      if (has_parts_of(candidate, word)) return candidate;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = candidate.size() > kLongestWord ? best_distance : edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::optional<std::string> meant = nearest(word, candidates);
  return meant ? fmt::format("; did you mean {}?", in_quotes(*meant)) : "";
}

std::string first_names(std::span<const std::string> names, std::string_view where) {
  constexpr std::size_t kColumns = 56, kLongestName = 60;  // file, place and the wrong name take the rest of a line
  std::string text;
  std::size_t listed = 0;
  for (const std::string& name : names) {
    const std::string shown = printable(name, kLongestName);
    if (listed > 0 && text.size() + shown.size() + 2 > kColumns) break;
    text += (listed > 0 ? ", " : "") + shown;
    ++listed;
  }
  return listed == names.size() ? text : fmt::format("{} and {} more ({})", text, names.size() - listed, where);
}

std::string meant_or_known(std::string_view word, std::span<const std::string> names, std::string_view where) {
  const std::string meant = did_you_mean(word, names);
  return meant.empty() ? "; there are " + first_names(names, where) : meant;
}

std::string either(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace foretoken

// Changes of a known value by patterns, as bash does them.
#include "sim/io/import/launch/shell/substitute.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "sim/io/import/launch/shell/arithmetic.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::shell {
namespace {

constexpr std::size_t kLongestValue = 4096;  // patterns take quadratic time

std::string cut_front(const std::string& value, std::string_view pattern, bool longest) {
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t size = longest ? value.size() - i : i;
    if (matches_pattern(std::string_view(value).substr(0, size), pattern)) return value.substr(size);
  }
  return value;
}

std::string cut_back(const std::string& value, std::string_view pattern, bool longest) {
  for (std::size_t i = 0; i <= value.size(); ++i) {
    const std::size_t begin = longest ? i : value.size() - i;
    if (matches_pattern(std::string_view(value).substr(begin), pattern)) return value.substr(0, begin);
  }
  return value;
}

std::string replaced(const std::string& value, std::string_view change, bool all) {
  const std::size_t slash = change.find('/');
  const std::string_view from = change.substr(0, slash);
  const std::string_view to = slash == change.npos ? "" : change.substr(slash + 1);
  if (from.empty() || from.find_first_of("*?[") != from.npos) return unknown_because("a pattern in ${NAME/...}");
  std::string result;
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t found = value.find(from, at);
    result += value.substr(at, found == value.npos ? found : found - at);
    if (found == value.npos) break;
    result += to;
    at = found + from.size();
    if (!all) return result + value.substr(at);
  }
  return result;
}

// A place in a text: "3", "$SIZE+1" behind the expansion of its variables, or nothing for 0.
std::optional<std::int64_t> whole(std::string_view text) {
  if (text.empty()) return 0;
  return arithmetic(text, [](std::string_view name) { return unset_variable(name); });
}

struct Slice {
  std::size_t begin = 0, length = 0;
};

// "1:3" and "1" of something that is `whole_size` long; nothing for places that are no numbers.
std::optional<Slice> slice_of(std::string_view change, std::size_t whole_size) {
  const std::size_t colon = change.find(':');
  const auto begin = whole(change.substr(0, colon));
  const auto size = static_cast<std::int64_t>(whole_size);
  const auto length = colon == change.npos ? std::optional(size) : whole(change.substr(colon + 1));
  if (!begin || !length || *length < 0) return std::nullopt;
  const std::int64_t from = std::clamp<std::int64_t>(*begin < 0 ? size + *begin : *begin, 0, size);
  return Slice{static_cast<std::size_t>(from), static_cast<std::size_t>(std::min(*length, size - from))};
}

std::string sliced(const std::string& value, std::string_view change) {
  const auto slice = slice_of(change, value.size());
  return slice ? value.substr(slice->begin, slice->length) : unknown_because("a part of a text");
}

std::string in_case(std::string value, bool upper) {
  std::ranges::transform(value, value.begin(),
                         [&](unsigned char c) { return static_cast<char>(upper ? std::toupper(c) : std::tolower(c)); });
  return value;
}

// [abc], [a-z] and [!a]. Returns the place behind the set; `begin` where `c` is not in it.
std::size_t behind_set(std::string_view pattern, std::size_t begin, char c) {
  const std::size_t end = pattern.find(']', begin + 2);
  const bool turned = pattern[begin + 1] == '!' || pattern[begin + 1] == '^';
  bool found = false;
  for (std::size_t i = begin + (turned ? 2 : 1); i < end; ++i) {
    const bool range = i + 2 < end && pattern[i + 1] == '-';
    found = found || (range ? pattern[i] <= c && c <= pattern[i + 2] : pattern[i] == c);
    if (range) i += 2;
  }
  return found != turned ? end + 1 : begin;
}

// The place in the pattern behind what matches `c`; `in` where nothing does.
std::size_t behind_character(std::string_view pattern, std::size_t in, char c) {
  if (in >= pattern.size()) return in;
  if (pattern[in] == '\\' && in + 1 < pattern.size()) return pattern[in + 1] == c ? in + 2 : in;
  if (pattern[in] == '[' && pattern.find(']', in + 2) != pattern.npos) return behind_set(pattern, in, c);
  return pattern[in] == '?' || pattern[in] == c ? in + 1 : in;
}

}  // namespace

Texts elements_in(const Texts& elements, std::string_view change) {
  const auto slice = is_unknown(change) ? std::nullopt : slice_of(change.substr(1), elements.size());
  if (!slice) return {unknown_because("a part of an array")};
  const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(slice->begin);
  return {begin, begin + static_cast<std::ptrdiff_t>(slice->length)};
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, in = 0, star = pattern.npos, mark = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      mark = at;
    } else if (const std::size_t next = behind_character(pattern, in, text[at]); next > in) {
      in = next;
      ++at;
    } else if (star != pattern.npos) {
      in = star + 1;
      at = ++mark;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

std::string substituted(const std::string& value, std::string_view change) {
  if (is_unknown(change) || value.size() > kLongestValue) return unknown_because("a changed text");
  if (change.starts_with("##")) return cut_front(value, change.substr(2), true);
  if (change.starts_with("#")) return cut_front(value, change.substr(1), false);
  if (change.starts_with("%%")) return cut_back(value, change.substr(2), true);
  if (change.starts_with("%")) return cut_back(value, change.substr(1), false);
  if (change.starts_with("//")) return replaced(value, change.substr(2), true);
  if (change.starts_with("/")) return replaced(value, change.substr(1), false);
  if (change == "^^" || change == ",,") return in_case(value, change == "^^");
  if (change.starts_with(":")) return sliced(value, change.substr(1));
  return unknown_because("a changed text");
}

}  // namespace foretoken::io::shell

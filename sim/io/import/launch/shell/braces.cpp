// Expands {a,b} and {1..4} in a word of a script: Bash Reference Manual, section 3.5.1.
#include "sim/io/import/launch/shell/braces.h"

#include <charconv>
#include <cstdint>
#include <optional>

#include "sim/io/import/launch/shell/lexer.h"

namespace foretoken::io::shell {
namespace {

constexpr std::size_t kMostWords = 10'000;
using Words = std::vector<std::string>;

struct Braces {
  std::size_t begin = 0, end = 0;  ///< of {...}, with both brackets
  std::vector<std::string_view> choices{};
};

// The brackets that begin at `begin`; nothing where they do not close.
std::optional<Braces> braces_at(std::string_view word, std::size_t begin) {
  Braces braces{begin, 0, {}};
  std::size_t from = begin + 1;
  int level = 1;
  for (std::size_t at = from; at < word.size();) {
    const char c = word[at];
    if (c == '{') ++level;
    if ((c == ',' && level == 1) || (c == '}' && level == 1)) {
      braces.choices.push_back(word.substr(from, at - from));
      from = at + 1;
    }
    if (c == '}' && --level == 0) {
      braces.end = at + 1;
      return braces;
    }
    at = end_of_part(word, at);
  }
  return std::nullopt;
}

std::optional<std::int32_t> bound_of(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "1..4" is 1 2 3 4. Nothing for another text.
std::optional<Words> counted(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const auto first = bound_of(text.substr(0, dots)), last = bound_of(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  const std::int64_t step = *first <= *last ? 1 : -1;
  Words words;
  for (std::int64_t value = *first; value != *last + step && words.size() <= kMostWords; value += step)
    words.push_back(std::to_string(value));
  return words;
}

bool add_all(std::string_view word, Words& all, int depth) {
  constexpr int kDeepest = 16;
  if (depth > kDeepest) return false;
  for (std::size_t at = 0; at < word.size(); at = end_of_part(word, at)) {
    if (word[at] != '{') continue;
    const auto braces = braces_at(word, at);
    if (!braces) break;
    auto choices = braces->choices.size() == 1 ? counted(braces->choices[0])
                                               : std::optional<Words>({braces->choices.begin(), braces->choices.end()});
    if (!choices) continue;
    for (const std::string& choice : *choices) {
      const std::string next =
          std::string(word.substr(0, braces->begin)) + choice + std::string(word.substr(braces->end));
      if (all.size() > kMostWords || !add_all(next, all, depth + 1)) return false;
    }
    return true;
  }
  all.emplace_back(word);
  return all.size() <= kMostWords;
}

}  // namespace

Words with_braces(std::string_view word) {
  Words all;
  if (word.find('{') == word.npos) return {std::string(word)};
  if (!add_all(word, all, 0)) all.clear();
  return all;
}

}  // namespace foretoken::io::shell

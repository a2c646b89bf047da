// Keeps what two values of a variable have in common.
#include "sim/io/import/launch/shell/merged_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <span>
#include <string_view>

namespace foretoken::io::shell {
namespace {

// Returns the length of the whole words with which both texts begin, without a quote that is still open.
std::size_t shared_words(std::string_view a, std::string_view b) {
  const auto differ = std::ranges::mismatch(a, b).in1;
  const auto ends = [](std::string_view text, std::size_t at) {
    return at == text.size() || text[at] == ' ' || text[at] == ';';
  };
  auto size = static_cast<std::size_t>(differ - a.begin());
  while (size > 0 && (!ends(a, size) || !ends(b, size))) --size;
  const std::string_view shared = a.substr(0, size);
  for (const char quote : {'"', '\'', kUnknown})
    if (std::ranges::count(shared, quote) % 2 != 0) return 0;
  return size;
}

bool is_flag(std::string_view word) {
  const std::size_t name = word.find_first_not_of('-');
  return name != word.npos && name > 0 && std::isalpha(static_cast<unsigned char>(word[name])) != 0;
}

// Returns true for a flag whose value may be the next word.
bool is_bare_flag(std::string_view word) { return is_flag(word) && word.find_first_of("= ") == word.npos; }

// The words of a flag, and how often it stands.
struct FlagWords {
  Texts words{};
  int times = 0;
};
using Flags = std::map<std::string, FlagWords, std::less<>>;

// Returns words by flag, with those in front of the first flag under "". An unknown word that is no value of a flag may
// be any other flag.
Flags flags_among(std::span<const std::string> words) {
  Flags flags;
  FlagWords* last = &flags[""];
  std::string_view before;
  for (const std::string& word : words) {
    const bool ends = word.starts_with(kUnknown) && !is_bare_flag(before);
    if (is_flag(word) || ends) {
      last = &flags[std::string(ends ? std::string_view(word) : word.substr(0, word.find_first_of("= ")))];
      last->words.clear();
      ++last->times;
    }
    last->words.push_back(word);
    before = word;
  }
  return flags;
}

// Returns the flags that stand once in both, in the order of their names. The last of several would count.
Texts shared_flags(const Flags& before, const Flags& now) {
  Texts shared;
  for (const auto& [name, flag] : before) {
    const auto other = now.find(name);
    if (other == now.end() || !is_flag(name) || flag.times != 1 || other->second.times != 1) continue;
    if (flag.words == other->second.words) shared.insert(shared.end(), flag.words.begin(), flag.words.end());
  }
  return shared;
}

// Words in front of the first flag are values of the flag before them, or no flags follow that one could keep.
Texts merged_words(const std::string& open, const Texts& before, const Texts& now) {
  const auto same = static_cast<std::size_t>(std::ranges::mismatch(before, now).in1 - before.begin());
  Texts texts(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(same));
  const Flags ours = flags_among(std::span(before).subspan(same)), others = flags_among(std::span(now).subspan(same));
  const bool begin_with_flags = ours.at("").words.empty() && others.at("").words.empty();
  const Texts shared = shared_flags(ours, others);
  if (!shared.empty() && (begin_with_flags || (!texts.empty() && is_bare_flag(texts.back())))) {
    if (!begin_with_flags) texts.push_back(open);
    texts.insert(texts.end(), shared.begin(), shared.end());
  }
  if (texts.empty() || !texts.back().ends_with(kUnknown)) texts.push_back(open);
  return texts;
}

// Returns the words of a text; nothing where quotes or signs of the shell join or part them.
Texts plain_words(std::string_view text) {
  Texts words;
  if (text.find_first_of("\"'\\;&|<>\n") != text.npos) return words;
  bool unknown = false, inside = false;
  for (const char c : text) {
    if (c == kUnknown) unknown = !unknown;
    const bool blank = c == ' ' && !unknown;
    if (!blank && !inside) words.emplace_back();
    if (!blank) words.back() += c;
    inside = !blank;
  }
  return words;
}

// A text with quotes keeps the words with which both begin.
std::string merged_texts(const std::string& open, const std::string& before, const std::string& now) {
  const Texts ours = plain_words(before), others = plain_words(now);
  if (!ours.empty() && !others.empty()) return fmt::format("{}", fmt::join(merged_words(open, ours, others), " "));
  const std::size_t size = shared_words(before, now);
  const std::string shared = before.substr(0, size);
  if (shared.find_first_not_of(' ') == shared.npos) return open;
  if (shared.ends_with(kUnknown)) return shared;
  const std::string& longer = size < now.size() ? now : before;
  return shared + longer[size] + ' ' + open;
}

}  // namespace

std::string open_value(const std::string& name) { return unknown_because(std::string(kOpenCondition) + name); }

Texts merged_value(const std::string& name, const Texts& before, const Texts& now) {
  const std::string open = open_value(name);
  if (before.size() > 1 && now.size() > 1) return merged_words(open, before, now);
  if (before.size() != 1 || now.size() != 1 || before[0].find(' ') == std::string::npos) return {open};
  return {merged_texts(open, before[0], now[0])};
}

}  // namespace foretoken::io::shell

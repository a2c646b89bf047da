// Commands that change a text, without running them.
#include "sim/io/import/launch/shell/text_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/io/import/launch/shell/arithmetic.h"

namespace foretoken::io::shell {
namespace {

constexpr std::size_t kLongestInput = 1 << 18;

Texts lines_in(const std::string& text) {
  Texts lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t words_in(const std::string& text) {
  std::size_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!blank && !inside) ++count;
    inside = !blank;
  }
  return count;
}

// One character of tr's sets: "," and "\n".
std::optional<char> character_of(const std::string& word) {
  if (word.size() == 1) return word[0];
  if (word == "\\n") return '\n';
  if (word == "\\t") return '\t';
  return std::nullopt;
}

std::optional<std::string> translated(const Texts& words, std::string input) {
  if (words.size() != 3) return std::nullopt;
  if (words[1] == "[:upper:]" && words[2] == "[:lower:]") {
    std::ranges::transform(input, input.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return input;
  }
  const auto last = character_of(words[2]);
  if (!last) return std::nullopt;
  if (words[1] == "-d") {
    std::erase(input, *last);
    return input;
  }
  const auto first = character_of(words[1]);
  if (!first) return std::nullopt;
  std::ranges::replace(input, *first, *last);
  return input;
}

// The value of -d, or -d and a word: both spellings of an option with one letter.
std::optional<std::string> option_of(const Texts& words, std::string_view name) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with(name)) continue;
    if (words[i].size() > name.size()) return words[i].substr(name.size());
    return i + 1 < words.size() ? std::optional(words[i + 1]) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::size_t> number_in(const std::optional<std::string>& text) {
  std::size_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  return whole ? std::optional(value) : std::nullopt;
}

// cut -d, -f2 and cut -f2 -d ,: one field of every line.
std::optional<std::string> one_field(const Texts& words, const std::string& input) {
  const auto mark = option_of(words, "-d").value_or("\t");
  const auto field = number_in(option_of(words, "-f"));
  if (mark.size() != 1 || field.value_or(0) == 0) return std::nullopt;
  std::string result;
  for (const std::string& line : lines_in(input)) {
    std::size_t at = 0;
    for (std::size_t i = 1; i < *field && at != line.npos; ++i) {
      at = line.find(mark[0], at);
      if (at != line.npos) ++at;
    }
    const bool whole = line.find(mark[0]) == line.npos;
    if (whole)
      result += line;
    else if (at != line.npos)
      result += line.substr(at, std::min(line.find(mark[0], at), line.size()) - at);
    result += '\n';
  }
  return result;
}

std::optional<std::string> counted(const Texts& words, const std::string& input) {
  if (words.size() != 2) return std::nullopt;
  if (words[1] == "-l") return fmt::format("{}\n", std::ranges::count(input, '\n'));
  if (words[1] == "-w") return fmt::format("{}\n", words_in(input));
  return std::nullopt;
}

std::optional<std::string> first_lines(const Texts& words, const std::string& input) {
  auto count = number_in(option_of(words, "-n"));
  if (!count && words.size() == 2 && words[1].starts_with('-')) count = number_in(words[1].substr(1));
  if (!count) return std::nullopt;
  const Texts lines = lines_in(input);
  std::string result;
  for (std::size_t i = 0; i < std::min(*count, lines.size()); ++i) result += lines[i] + "\n";
  return result;
}

std::optional<std::string> calculated(const Texts& words, std::string input) {
  while (input.ends_with('\n')) input.pop_back();
  if (words.size() > 1 || input.find_first_not_of("0123456789+-*/%() ") != input.npos) return std::nullopt;
  const auto value = arithmetic(input, [](std::string_view) { return std::string(); });
  return value ? std::optional(fmt::format("{}\n", *value)) : std::nullopt;
}

// grep -o ",": every match in a line of its own. The pattern has no signs of a regular expression.
std::optional<std::string> matches_of(const Texts& words, const std::string& input) {
  if (words.size() != 3 || words[1] != "-o" || words[2].empty()) return std::nullopt;
  const std::string& pattern = words[2];
  if (pattern.find_first_of("\\^$.[]*+?{}|()\n") != pattern.npos) return std::nullopt;
  std::string result;
  for (std::size_t at = input.find(pattern); at != input.npos; at = input.find(pattern, at + pattern.size()))
    result += pattern + "\n";
  return result;
}

// awk -F',' '{print NF}'
std::optional<std::string> number_of_fields(const Texts& words, const std::string& input) {
  const auto mark = option_of(words, "-F");
  std::string program = words.back();
  std::erase(program, ' ');
  if (!mark || mark->size() != 1 || program != "{printNF}") return std::nullopt;
  std::string result;
  for (const std::string& line : lines_in(input))
    result += fmt::format("{}\n", line.empty() ? 0 : std::ranges::count(line, (*mark)[0]) + 1);
  return result;
}

// sed 's/  \+/ /g' and sed -E 's/ +/ /g': runs of one character become another text.
std::optional<std::string> squeezed(const Texts& words, const std::string& input) {
  const bool extended = words.size() == 3 && (words[1] == "-E" || words[1] == "-r");
  if (words.size() != 2 && !extended) return std::nullopt;
  std::string_view script = words.back();
  if (!script.starts_with("s/") || !script.ends_with("/g")) return std::nullopt;
  script = script.substr(2, script.size() - 4);
  const std::string_view more = extended ? "+/" : "\\+/";
  const std::size_t end = script.find(more);
  if (end == script.npos || end == 0) return std::nullopt;
  const std::string_view run = script.substr(0, end), to = script.substr(end + more.size());
  constexpr std::string_view kSigns = "\\^$.[]*+?{}|()/&\n";
  if (run.find_first_of(kSigns) != run.npos || to.find_first_of(kSigns) != to.npos) return std::nullopt;
  std::string result;
  for (std::size_t at = 0; at < input.size();) {
    if (input.compare(at, run.size(), run) != 0) {
      result += input[at++];
      continue;
    }
    result += to;
    for (at += run.size(); at < input.size() && input[at] == run.back();) ++at;
  }
  return result;
}

}  // namespace

std::optional<std::string> filtered(const Texts& words, const std::string& input) {
  if (words.empty() || input.size() > kLongestInput) return std::nullopt;
  if (words[0] == "tr") return translated(words, input);
  if (words[0] == "cat" && words.size() == 1) return input;
  if (words[0] == "sed") return squeezed(words, input);
  if (is_unknown(input)) return std::nullopt;
  if (words[0] == "cut") return one_field(words, input);
  if (words[0] == "wc") return counted(words, input);
  if (words[0] == "head") return first_lines(words, input);
  if (words[0] == "bc") return calculated(words, input);
  if (words[0] == "grep") return matches_of(words, input);
  if (words[0] == "awk") return number_of_fields(words, input);
  return std::nullopt;
}

}  // namespace foretoken::io::shell

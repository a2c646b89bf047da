// The outputs of commands that depend on their words only, and on files beside the script.
#include "sim/io/import/launch/shell/known_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "sim/io/import/launch/shell/arithmetic.h"
#include "sim/io/import/launch/shell/getopt.h"
#include "sim/io/import/launch/shell/text_filter.h"
#include "sim/io/import/launch/shell/yq.h"

namespace foretoken::io::shell {
namespace {

// a/b/ names b in a.
std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(without_slashes(path)).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string name_of(const std::string& path) {
  const std::string whole = without_slashes(path);
  return whole == "/" ? whole : std::filesystem::path(whole).filename().string();
}

std::string joined(const Texts& words, std::size_t first) {
  std::string text;
  for (std::size_t i = first; i < words.size(); ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

// expr 2 \* $N
std::optional<std::string> value_of_words(const Texts& words) {
  const std::string text = joined(words, 1);
  if (text.find_first_not_of("0123456789+-*/%() ") != text.npos) return std::nullopt;
  const auto value = arithmetic(text, [](std::string_view) { return std::string(); });
  return value ? std::optional(fmt::format("{}", *value)) : std::nullopt;
}

// seq LAST, seq FIRST LAST, seq FIRST STEP LAST
std::optional<std::string> sequence_of(const Texts& words) {
  constexpr std::int64_t kMost = 1000;
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::int64_t number = 0;
    const char* const end = words[i].data() + words[i].size();
    if (const auto [stop, error] = std::from_chars(words[i].data(), end, number); error != std::errc() || stop != end)
      return std::nullopt;
    numbers.push_back(number);
  }
  if (numbers.empty() || numbers.size() > 3) return std::nullopt;
  const std::int64_t first = numbers.size() > 1 ? numbers.front() : 1, last = numbers.back();
  const std::int64_t step = numbers.size() == 3 ? numbers[1] : 1;
  if (step < 1 || first < -kMost || last > kMost * kMost) return std::nullopt;
  if (last >= first && (last - first) / step >= kMost) return std::nullopt;
  std::string text;
  for (std::int64_t at = first; at <= last; at += step) text += fmt::format("{}\n", at);
  return text;
}

bool is_launcher(std::string_view name) {
  constexpr std::string_view kLaunchers[] = {"python", "python3", "torchrun", "deepspeed", "accelerate",
                                             "tune",   "swift",   "composer", "axolotl",   "llamafactory-cli"};
  return std::ranges::find(kLaunchers, name) != std::end(kLaunchers);
}

// Returns \n, \t and the like as the characters that they stand for. `others` are those that stand for themselves.
std::string unescaped(std::string_view text, std::string_view others = "\\") {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    const bool escaped = next == 'n' || next == 't' || (next != '\0' && others.find(next) != others.npos);
    if (escaped)
      plain += next == 'n' ? '\n' : next == 't' ? '\t' : next;
    else
      plain += text[i];
    if (escaped) ++i;
  }
  return plain;
}

}  // namespace

// printf FORMAT WORD... with %s, %d and %%. The format is used anew until all words are printed.
std::optional<std::string> printf_output(const Texts& words) {
  if (words.size() < 2 || is_unknown(words[1]) || words[1] == "-v" || words[1] == "--") return std::nullopt;
  const std::string format = unescaped(words[1], "\\\"");
  std::string text;
  std::size_t next = 2;
  do {
    const std::size_t begin = next;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        text += format[i];
        continue;
      }
      const char kind = ++i < format.size() ? format[i] : '\0';
      if (kind == '%')
        text += '%';
      else if (kind == 's' || kind == 'd')
        text += next < words.size() ? words[next++] : kind == 'd' ? "0" : "";
      else
        return std::nullopt;  // widths and other kinds
    }
    if (next == begin) break;
  } while (next < words.size());
  return text;
}

std::optional<std::string> echo_output(const Texts& words) {
  std::size_t first = 1;
  bool newline = true, escapes = false;
  for (; first < words.size(); ++first) {
    const std::string& word = words[first];
    if (word.size() < 2 || word[0] != '-' || word.find_first_not_of("neE", 1) != word.npos) break;
    newline = newline && word.find('n') == word.npos;
    if (const std::size_t last = word.find_last_of("eE"); last != word.npos) escapes = word[last] == 'e';
  }
  std::string text = joined(words, first);
  if (escapes) {
    for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at + 2))
      if (at + 1 == text.size() || std::string_view("nt\\").find(text[at + 1]) == std::string_view::npos)
        return std::nullopt;
    text = unescaped(text);
  }
  return text + (newline ? "\n" : "");
}

namespace {

// Options of readlink and realpath that leave the path and its line end as they are: coreutils 9.1, readlink(1).
bool is_of_whole_path(std::string_view option) {
  if (option.starts_with("--")) return option == "--" || option.starts_with("--canonicalize");
  return option.starts_with('-') && option.find_first_not_of("femLPsqv", 1) == option.npos;
}

// The one line of a command that names a path, a program or a value; nothing for other commands.
std::optional<std::string> line_of_words(const Texts& words, const std::string& folder) {
  const std::string &name = words[0], &last = words.back();
  const bool one = words.size() == 2 || (words.size() == 3 && words[1] == "--");
  if (name == "pwd") return folder;
  if (name == "dirname" && one) return folder_of(last);
  if (name == "basename" && one) return name_of(last);
  const bool resolves = (name == "readlink" || name == "realpath") && words.size() > 1;
  if (resolves && (one || (words.size() == 3 && is_of_whole_path(words[1])))) return last;
  // A script that looks a launcher up expects to find it.
  const bool looks_up =
      (name == "which" && words.size() == 2) || (name == "command" && words.size() == 3 && words[1] == "-v");
  if (looks_up && is_launcher(last)) return last;
  return name == "expr" ? value_of_words(words) : std::nullopt;
}

// A command that reads nothing, or a file.
std::optional<std::string> output_of_words(const Texts& words, std::string& folder, const TextOfFile& text_of) {
  const std::string &name = words[0], &last = words.back();
  if (const auto line = line_of_words(words, folder)) return *line + "\n";
  if (name == "cd" && (words.size() == 2 || (words.size() == 3 && words[1].starts_with('-')))) {
    folder = std::filesystem::path(last).is_absolute() ? last : (std::filesystem::path(folder) / last).string();
    return "";
  }
  if (name == "printf") return printf_output(words);
  if (name == "seq") return sequence_of(words);
  if (name == "cat" && words.size() == 2) return text_of(last);
  if (name == "getopt") return getopt_output(words);
  if (name == "yq") return yq_output(words, text_of);
  return name == "echo" ? echo_output(words) : std::nullopt;
}

}  // namespace

std::optional<std::string> known_output(const Texts& words, const std::optional<std::string>& input,
                                        std::string& folder, const TextOfFile& text_of) {
  if (words.empty() || std::ranges::any_of(words, [](const std::string& word) { return is_unknown(word); }))
    return std::nullopt;
  if (auto text = input ? filtered(words, *input) : std::nullopt) return text;
  return output_of_words(words, folder, text_of);
}

}  // namespace foretoken::io::shell

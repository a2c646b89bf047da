// Writes the options that were given, in the order of the help text.
#include "tools/options/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/text.h"

namespace foretoken::tools {
namespace {

std::string words_of(const CLI::Option& option) {
  const std::string name = option.get_lnames().empty() ? "" : " --" + option.get_lnames().front();
  if (option.get_items_expected_max() == 0) return name;
  if (option.get_delimiter() != '\0')
    return name + ' ' + shell_word(fmt::format("{}", fmt::join(option.results(), ",")));
  std::string words;
  for (const std::string& value : option.results()) words += name + ' ' + shell_word(value);
  return words;
}

// Returns $'a\x0ab': a word that stays on one line and sends nothing to a terminal. bash, zsh and ksh read it.
std::string escaped_word(const std::string& text) {
  std::string quoted = "$'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte > '~')
      quoted += fmt::format("\\x{:02x}", byte);
    else
      quoted += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  if (printable(text, kAnyLength) != text) return escaped_word(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string command_line(const CLI::App& command) {
  std::string line = "foretoken " + command.get_name();
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) line += words_of(*option);
  return printable(line, 100000);
}

std::vector<std::string> with_values(const std::vector<std::string>& words) {
  std::vector<std::string> units;
  for (const std::string& word : words) {
    const bool is_value = !units.empty() && !word.starts_with("--") && units.back().find(' ') == std::string::npos;
    if (is_value)
      units.back() += ' ' + shell_word(word);
    else
      units.push_back(shell_word(word));
  }
  return units;
}

std::string shell_lines(const std::vector<std::string>& units, std::size_t indent, std::size_t columns) {
  constexpr std::size_t kDeeper = 4, kBreak = 2;  // columns of " \\"
  std::string text, line(indent, ' ');
  bool is_empty = true;
  for (const std::string& unit : units) {
    if (!is_empty && line.size() + 1 + unit.size() + kBreak > columns) {
      text += line + " \\\n";
      line.assign(indent + kDeeper, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + unit;
    is_empty = false;
  }
  return text + line + '\n';
}

}  // namespace foretoken::tools

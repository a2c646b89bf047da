// Reads the words that `read` takes from a here string. Other input of a script is unknown.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/io/import/launch/shell/interpreter.h"

namespace foretoken::io::shell {
namespace {

// The names and options behind `read`: read -ra NAME, read -r A B.
struct Asked {
  Texts names{};
  bool array = false, plain = false;  ///< all words go to one name; a backslash stands for itself
};

// Returns nothing for other options, which say where a word or the text ends.
std::optional<Asked> asked_of(const Texts& words) {
  Asked asked;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with('-')) {
      asked.names.push_back(words[i]);
      continue;
    }
    if (words[i].find_first_not_of("-raes") != words[i].npos) return std::nullopt;
    asked.array = asked.array || words[i].find('a') != words[i].npos;
    asked.plain = asked.plain || words[i].find('r') != words[i].npos;
  }
  return asked;
}

// Takes the first word, and what parts it from the next one: blanks of IFS around at most one other character of it.
std::string take_word(std::string_view& text, std::string_view parts, std::string_view blanks) {
  const auto skip_blanks = [&] { text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); };
  const std::size_t end = std::min(text.find_first_of(parts), text.size());
  std::string word(text.substr(0, end));
  text.remove_prefix(end);
  skip_blanks();
  if (text.empty() || parts.find(text.front()) == parts.npos) return word;
  text.remove_prefix(1);
  skip_blanks();
  return word;
}

}  // namespace

// IFS=, read -r A C <<< "4,8". Returns false where this reading does not know what the shell takes.
bool Interpreter::read_here_string(const Texts& words, std::string_view text) {
  const auto asked = asked_of(words);
  if (!asked || asked->names.empty() || (!asked->plain && text.find('\\') != text.npos)) return false;
  const Texts* const stated = script_.variables.find("IFS");
  const std::string parts = stated == nullptr || stated->empty() ? " \t\n" : stated->front();
  if (is_unknown(parts) || is_unknown(text)) {
    const std::string why = unknown_because(why_unknown(is_unknown(text) ? text : std::string_view(parts)));
    for (const std::string& name : asked->names) script_.variables.set(name, {why});
    return true;
  }
  std::string blanks;
  for (const char c : parts)
    if (c == ' ' || c == '\t' || c == '\n') blanks += c;
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - std::min(text.find_last_not_of(blanks) + 1, text.size()));
  Texts all;
  if (asked->array) {
    while (!text.empty()) all.push_back(take_word(text, parts, blanks));
    budget_.take_words(all.size());
    script_.variables.set(asked->names.front(), std::move(all));
    return true;
  }
  // The last name takes the rest, without a mark that ends its only word.
  for (std::size_t i = 0; i + 1 < asked->names.size(); ++i)
    script_.variables.set(asked->names[i], {take_word(text, parts, blanks)});
  std::string_view rest = text;
  const std::string word = take_word(rest, parts, blanks);
  script_.variables.set(asked->names.back(), {rest.empty() ? word : std::string(text)});
  return true;
}

// read A B, and mapfile -t A, from the terminal, a file or a command.
void Interpreter::take_input(const Texts& words) {
  const auto set = [&](const std::string& name) {
    script_.variables.set(name, {unknown_because("input of the script: " + name)});
  };
  if (words[0] == "read") {
    for (std::size_t i = 1; i < words.size(); ++i)
      if (!words[i].starts_with('-')) set(words[i]);
    return;
  }
  const bool named = words.size() > 1 && is_name(words.back());
  set(named ? words.back() : "MAPFILE");
}

}  // namespace foretoken::io::shell

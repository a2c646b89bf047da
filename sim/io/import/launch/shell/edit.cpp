// Reads the commands by which scripts fill in a template: sed, envsubst, cat, cp and tee, and echo into a
// configuration.
//
// Of sed are known s/A/B/ and s/A/B/g with an A without patterns, several of them, -e, -i, and a pipeline of such
// commands.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/import/launch/shell/interpreter.h"

namespace foretoken::io::shell {
namespace {

struct Replacement {
  std::string from{}, to{};
  bool all = false;  ///< places of a line, not the first one only
};

// Parts between the marks of s/A/B/g. The reason of an unknown value may hold the mark.
Texts split_at(std::string_view text, char mark) {
  Texts parts(1);
  bool unknown = false;
  for (const char c : text) {
    if (c == kUnknown) unknown = !unknown;
    if (c == mark && !unknown)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::optional<Replacement> replacement_of(std::string_view word) {
  if (word.size() < 4 || word[0] != 's') return std::nullopt;
  const Texts parts = split_at(word.substr(2), word[1]);
  if (parts.size() != 3 || parts[0].empty() || is_unknown(parts[0])) return std::nullopt;
  const bool plain = parts[0].find_first_of("\\.*[]^$") == std::string::npos &&
                     (is_unknown(parts[1]) || parts[1].find_first_of("\\&") == std::string::npos);
  if (!plain || (!parts[2].empty() && parts[2] != "g")) return std::nullopt;
  return Replacement{parts[0], parts[1], parts[2] == "g"};
}

std::string replaced_in(const std::string& text, const Replacement& one) {
  std::string result;
  bool done = false;  // in this line
  for (std::size_t at = 0; at < text.size();) {
    const bool here = !done && text.compare(at, one.from.size(), one.from) == 0;
    result += here ? one.to : std::string(1, text[at]);
    done = (done || (here && !one.all)) && text[at] != '\n';
    at += here ? one.from.size() : 1;
  }
  return result;
}

struct Edit {
  std::vector<Replacement> replacements{};
  std::string file{};
  bool in_place = false;
};

// Nothing for a command that does something else.
std::optional<Edit> edit_of(const Texts& words) {
  Edit edit;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool option = words[i].starts_with('-');
    if (words[i] == "-i") edit.in_place = true;
    if (option && words[i] != "-i" && words[i] != "-e") return std::nullopt;
    if (option) continue;
    const bool script = words[i - 1] == "-e" || edit.replacements.empty();
    const auto replacement = script ? replacement_of(words[i]) : std::nullopt;
    if (script != replacement.has_value() || (!script && !edit.file.empty())) return std::nullopt;
    if (script)
      edit.replacements.push_back(*replacement);
    else
      edit.file = words[i];
  }
  return edit.replacements.empty() || is_unknown(edit.file) ? std::nullopt : std::optional(std::move(edit));
}

bool is_data(std::string_view file) {
  for (const char* ending : {".json", ".yaml", ".yml", ".toml"})
    if (file.ends_with(ending)) return true;
  return false;
}

}  // namespace

// echo '{"a": 8}' > ds.json, and >> for further lines. Options of echo change the text.
void Interpreter::write_echoed(const Simple& command) {
  const Texts& raw = command.raw;
  if (!is_data(command.target) || (raw.size() > 1 && raw[1].starts_with('-'))) return;
  std::string text;
  for (std::size_t i = 1; i < raw.size(); ++i) text += (i > 1 ? " " : "") + expander_.known_text(raw[i]);
  const auto before = script_.documents.find(command.target);
  if (command.appends && before == script_.documents.end()) return;
  if (command.appends) text.insert(0, before->second);
  budget_.take(text.size());
  script_.write(command.target, text + '\n');
}

// The text with a value in place of every $NAME and ${NAME}, as envsubst writes it.
std::string Interpreter::with_variables(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '$' ? end_of_part(text, at) : at + 1;
    std::string_view part = std::string_view(text).substr(at, end - at);
    at = end;
    const bool braced = part.starts_with("${") && part.ends_with('}');
    const std::string_view name = part.substr(std::min<std::size_t>(braced ? 2 : 1, part.size()));
    const bool plain = part.starts_with('$') && is_name(braced ? name.substr(0, name.size() - 1) : name);
    result += plain ? expander_.text(part) : std::string(part);
  }
  budget_.take(result.size());
  return result;
}

void Interpreter::edit(const Texts& words, const Simple& command) {
  std::optional<std::string> text = std::exchange(piped_, std::nullopt);
  const std::string name = words.empty() ? "" : words[0];
  if (name == "echo") return write_echoed(command);
  const auto edit = name == "sed" ? edit_of(words) : std::nullopt;
  const bool alone = words.size() == 1, copies = name == "tee" && words.size() == 2 && is_data(words[1]);
  if (!(edit || copies || name == "cat" || (name == "envsubst" && alone) || (name == "cp" && words.size() == 3)))
    return;
  const bool names_file = (name == "cat" && words.size() == 2) || name == "cp";
  if (name == "cat" && !names_file && !alone) return;
  if (!command.document.empty()) text = command.document;
  if (!command.input.empty()) text = text_near(command.input);
  if (names_file) text = text_near(words[1]);
  if (edit && !edit->file.empty()) text = edit->in_place ? text_at(edit->file) : text_near(edit->file);
  constexpr std::size_t kLongest = 1 << 18;
  if (!text || text->size() > kLongest) return;
  if (name == "envsubst") text = with_variables(*text);
  for (const Replacement& one : edit ? edit->replacements : std::vector<Replacement>()) {
    if (text->size() > kLongest) return;
    budget_.take(text->size());
    text = replaced_in(*text, one);
  }
  if (text->size() > kLongest) return;
  budget_.take(text->size());
  const std::string& place = name == "cp"             ? words[2]
                             : copies                 ? words[1]
                             : edit && edit->in_place ? edit->file
                                                      : command.target;
  if (place.empty())
    piped_ = std::move(text);
  else
    script_.write(place, std::move(*text));
}

}  // namespace foretoken::io::shell

// Reads the commands by which scripts fill in a template: sed, envsubst, cat, cp, mv and tee, and echo and printf into
// a configuration. The text of a configuration that any other command writes is not known afterwards.
//
// Of sed are known s/A/B/ and s/A/B/g with an A without patterns, several of them, -e, -i, and a pipeline of such
// commands.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/import/launch/shell/interpreter.h"
#include "sim/io/import/launch/shell/known_output.h"

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

Texts without_options(const Texts& words) {
  Texts plain;
  for (const std::string& word : words)
    if (!word.starts_with('-') || word.size() == 1) plain.push_back(word);
  return plain;
}

// sed -i, yq -i and perl -pi change files in place.
bool changes_in_place(const Texts& words) {
  if (words.empty() || (words[0] != "sed" && words[0] != "yq" && words[0] != "perl")) return false;
  return std::ranges::any_of(words, [](const std::string& word) {
    return word.starts_with("-i") || word.starts_with("--in-place") || word == "-pi" || word == "-pie";
  });
}

// Returns the place of tee and sponge among the words, also behind sudo.
std::size_t copier_at(const Texts& words) {
  for (std::size_t at = 0; at < std::min<std::size_t>(words.size(), 2); ++at)
    if (words[at] == "tee" || words[at] == "sponge") return at;
  return words.size();
}

// Returns the files that a command writes beside the target of its output.
Texts operands_written(const Texts& words) {
  const std::string name = words.empty() ? "" : words[0];
  const std::size_t copier = copier_at(words);
  if (copier < words.size())
    return without_options({words.begin() + static_cast<std::ptrdiff_t>(copier) + 1, words.end()});
  Texts files;
  const bool in_place = changes_in_place(words);
  if (const auto edit = in_place && name == "sed" ? edit_of(words) : std::nullopt; edit && !edit->file.empty())
    files.push_back(edit->file);
  else if (in_place)
    for (std::size_t i = 1; i < words.size(); ++i)
      if (is_data(words[i]) && !words[i].starts_with('-')) files.push_back(words[i]);
  const Texts plain = without_options(words);
  if ((name == "cp" || name == "mv") && plain.size() == 3)
    files.push_back(plain[2] + (plain[2].ends_with('/') ? plain[1].substr(plain[1].rfind('/') + 1) : ""));
  return files;
}

// Returns $NAME and ${NAME} as parts of their own, and the texts between.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '$' ? end_of_part(text, at) : std::min(text.find('$', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  return parts;
}

// Returns NAME of $NAME and ${NAME}; empty for another text.
std::string_view variable_in(std::string_view part) {
  if (!part.starts_with('$')) return "";
  const bool braced = part.starts_with("${") && part.ends_with('}');
  const std::string_view name = braced ? part.substr(2, part.size() - 3) : part.substr(1);
  return is_name(name) ? name : "";
}

// Returns the one operand of envsubst, which lists names; nothing for none.
std::optional<std::string> names_to_fill_in(const Texts& words) {
  const bool listed = words.size() == 2 && words[0] == "envsubst" && words[1].find('$') != std::string::npos;
  return listed && !is_unknown(words[1]) ? std::optional(words[1]) : std::nullopt;
}

}  // namespace

// echo '{"a": 8}' > ds.json
std::optional<std::string> Interpreter::echoed(const Texts& words, const Simple& command) {
  Texts known = {words[0]};
  for (std::size_t i = 1; i < command.raw.size(); ++i) {
    if (words[0] == "echo")
      known.push_back(expander_.known_text(command.raw[i]));
    else
      for (std::string& field : expander_.known_fields(command.raw[i])) known.push_back(std::move(field));
  }
  return words[0] == "echo" ? echo_output(known) : printf_output(known);
}

// The text with a value in place of every $NAME and ${NAME}, as envsubst writes it. `format` lists the names that
// count; nothing stands for all: gettext, manual of envsubst, SHELL-FORMAT.
std::string Interpreter::with_variables(const std::string& text, const std::optional<std::string>& format) {
  std::set<std::string_view> listed;
  for (const std::string_view part : parts_of(format ? std::string_view(*format) : std::string_view()))
    listed.insert(variable_in(part));
  std::string result;
  for (const std::string_view part : parts_of(text)) {
    const std::string_view name = variable_in(part);
    const bool filled = !name.empty() && (!format || listed.contains(name));
    result += filled ? expander_.text(part) : std::string(part);
  }
  budget_.take(result.size());
  return result;
}

// Returns the text that a command writes; nothing where only a run could tell.
std::optional<std::string> Interpreter::text_made(const Texts& words, const Simple& command) {
  constexpr std::size_t kLongest = 1 << 18;
  std::optional<std::string> text = std::exchange(piped_, std::nullopt);
  if (words.empty()) return std::nullopt;
  const std::string& name = words[0];
  const Texts plain = without_options(words);
  if (name == "echo" || name == "printf") {
    const bool written = is_data(command.target) || script_.documents.contains(command.target) || is("|");
    return written ? echoed(words, command) : std::nullopt;
  }
  const auto edit = name == "sed" ? edit_of(words) : std::nullopt;
  const bool copies = copier_at(words) < words.size(), moves = (name == "cp" || name == "mv") && plain.size() == 3;
  // ssh HOST cat > FILE <<END
  const bool shows = name == "cat" || (words.back() == "cat" && !command.document.empty());
  const bool alone = words.size() == 1 || (words.size() == 2 && words[1] == "-") || words.back() == "cat";
  const auto names = names_to_fill_in(words);
  if (!(edit || copies || shows || moves || (name == "envsubst" && (alone || names)))) return std::nullopt;
  const bool names_file = (name == "cat" && words.size() == 2 && !alone) || moves;
  if (shows && !names_file && !alone) return std::nullopt;
  if (!command.document.empty()) text = command.document;
  if (!command.input.empty()) text = text_near(command.input);
  if (names_file) text = text_near(plain.size() > 1 ? plain[1] : words[1]);
  if (edit && !edit->file.empty()) {
    text = edit->in_place ? text_at(edit->file) : std::nullopt;
    if (!text) text = text_near(edit->file);
  }
  if (!text || text->size() > kLongest) return std::nullopt;
  if (name == "envsubst") text = with_variables(*text, names);
  for (const Replacement& one : edit ? edit->replacements : std::vector<Replacement>()) {
    if (text->size() > kLongest) return std::nullopt;
    budget_.take(text->size());
    text = replaced_in(*text, one);
  }
  return text->size() > kLongest ? std::nullopt : text;
}

// A text that nobody knows takes the place of the one before, which would be wrong.
void Interpreter::note_unread(const std::string& place, const Simple& command) {
  if (place.empty() || !(is_data(place) || script_.documents.contains(place))) return;
  constexpr std::size_t kPath = 64;  // characters
  budget_.take(kPath * script_.documents.size());
  script_.forget(place, command.line > 0 ? file_ + ':' + std::to_string(command.line) : file_);
}

void Interpreter::write_into(const std::string& place, const std::string& text, bool appends, const Simple& command) {
  std::optional<std::string> before = appends ? text_near(place) : std::nullopt;
  if (removed_.erase(place) > 0) before = "";
  if (appends && !before && (script_.unread_by(place) != nullptr || command.document.empty())) return;
  budget_.take(text.size() + (before ? before->size() : 0));
  script_.write(place, before.value_or("") + text);
}

void Interpreter::edit(const Texts& words, const Simple& command) {
  if (!words.empty() && words[0] == "rm") removed_.insert(words.begin() + 1, words.end());
  const Texts operands = operands_written(words);
  std::optional<std::string> text = text_made(words, command);
  const bool copies = copier_at(words) < words.size();
  const bool adds = copies && std::ranges::find(words, "-a") != words.end();
  for (const std::string& place : operands) {
    if (!text)
      note_unread(place, command);
    else if (!copies || is_data(place) || script_.documents.contains(place))
      write_into(place, *text, adds, command);
  }
  const bool to_output = operands.empty() || copies;
  if (!to_output || (copies && !is_data(command.target))) return keep_piped(copies ? text : std::nullopt);
  if (command.target.empty()) return keep_piped(std::move(text));
  if (text)
    write_into(command.target, *text, command.appends, command);
  else
    note_unread(command.target, command);
}

// The next command of a pipeline reads the text, also behind { ...; } and ( ... ).
void Interpreter::keep_piped(std::optional<std::string> text) {
  std::size_t next = at_;
  while (next < tokens_->size() && (*tokens_)[next].text == ";") ++next;
  const std::string_view mark = next < tokens_->size() ? std::string_view((*tokens_)[next].text) : "";
  if (is("|") || mark == ")" || mark == "}") piped_ = std::move(text);
}

}  // namespace foretoken::io::shell

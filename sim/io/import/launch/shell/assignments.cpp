// Keeps the variables, arrays and arguments that a script sets.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "sim/io/import/launch/shell/interpreter.h"

namespace foretoken::io::shell {
namespace {

// Returns the variables that a value reads: "$A", "${B}" and "${C:=4}". Single quotes hide them, as in the shell.
Texts names_read_in(std::string_view value) {
  Texts names;
  bool single = false, twice = false;
  for (std::size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '\\' && !single) {
      ++at;
      continue;
    }
    if (value[at] == '\'' && !twice) single = !single;
    if (value[at] == '"' && !single) twice = !twice;
    if (value[at] != '$' || single) continue;
    std::size_t begin = at + 1;
    if (begin < value.size() && value[begin] == '{') ++begin;
    std::size_t end = begin;
    while (end < value.size() && is_of_name(value[end])) ++end;
    if (end > begin) names.emplace_back(value.substr(begin, end - begin));
  }
  return names;
}

}  // namespace

// NAME=text, NAME+=text, NAME=(a b c), NAME+=(d), NAME[1]=text
void Interpreter::assign(std::string_view raw, Mode mode) {
  if (mode == Mode::kSkip) return;
  const std::size_t end = assigned_name(raw);
  std::string_view name = raw.substr(0, end), value = raw.substr(end);
  const bool appends = value.starts_with('+');
  value.remove_prefix(appends ? 2 : 1);
  const std::size_t bracket = name.find('[');
  const bool element = bracket != name.npos;
  const std::string_view place = element ? name.substr(bracket + 1, name.size() - bracket - 2) : std::string_view();
  name = name.substr(0, bracket);
  if (script_.variables.table(name) != nullptr) return assign_in_table(std::string(name), place, value, appends);
  Texts texts;
  if (const Texts* old = script_.variables.find(name); old != nullptr && (appends || element)) texts = *old;
  if (value.starts_with('(') && value.ends_with(')')) {
    for (const Token& token : tokens_of(value.substr(1, value.size() - 2)))
      if (!token.is_operator)
        for (std::string& field : expander_.fields(token.text)) texts.push_back(std::move(field));
  } else if (element) {
    texts = {unknown_because(fmt::format("elements of {} that are set one by one", name))};
  } else {
    std::string text = expander_.text(value);
    if (texts.empty()) texts.emplace_back();
    texts.front() = appends ? texts.front() + text : text;
  }
  if (!script_.variables.fixed.contains(name))
    for (const std::string& read : names_read_in(value))
      if (read != name) script_.variables.readers[read].emplace(name);
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  budget_.take(size);
  budget_.take_words(texts.size());
  // NAME=$OTHER, where nothing sets OTHER: nothing sets NAME either.
  const bool copies = !appends && value.find('$') != value.npos && texts.size() == 1 && texts[0].empty() &&
                      !script_.variables.fixed.contains(name);
  if (const std::string known = copies ? expander_.known_text(value) : ""; is_unset(known)) {
    const std::string meant(script_.variables.meant_by(name));
    script_.variables.values.erase(meant);
    if (const std::string other = name_of_unset(known); other != meant) script_.variables.copies[meant] = other;
    return;
  }
  // NAME="" is a place to fill in.
  const bool is_place = !appends && !element && (value.empty() || value == "\"\"" || value == "''");
  const bool is_emptied = is_place || (copies && is_empty_default(expander_.tested_text(value)));
  script_.variables.set(name, std::move(texts));
  if (is_emptied) script_.variables.emptied.emplace(script_.variables.meant_by(name));
}

// TABLE[key]=text, TABLE=([key]=text ...), TABLE+=([key]=text)
void Interpreter::assign_in_table(const std::string& name, std::string_view place, std::string_view value,
                                  bool appends) {
  Variables& variables = script_.variables;
  NamedTexts table = place.empty() && !appends ? NamedTexts() : *variables.table(name);
  const auto put = [&](std::string_view key_text, std::string_view text, bool longer) {
    const std::string key = expander_.text(key_text), own = expander_.text(text);
    std::string& old = table[key];
    old = longer ? old + own : own;
    budget_.take(key.size() + old.size());
    budget_.take_words(1);
    return !is_unknown(key);
  };
  bool known = true;
  if (!place.empty()) {
    known = put(place, value, appends);
  } else if (value.starts_with('(') && value.ends_with(')')) {
    for (const Token& token : tokens_of(value.substr(1, value.size() - 2))) {
      const std::size_t end = token.text.find("]=");
      if (token.is_operator) continue;
      const bool named = token.text.starts_with('[') && end != std::string::npos;
      known = known && named && put(std::string_view(token.text).substr(1, end - 1), token.text.substr(end + 2), false);
    }
  }
  if (known)
    variables.tables[std::string(variables.meant_by(name))] = std::move(table);
  else
    variables.forget(name, unknown_because(fmt::format("elements of {} whose names are not known", name)));
}

// export "$KEY"="$VALUE": the name comes from a variable too. Returns NAME='value'.
std::string Interpreter::with_known_name(const std::string& word) {
  if (!word.starts_with('"') && !word.starts_with('$')) return word;
  const std::string text = expander_.text(word);
  const std::size_t end = text.find('=');
  if (end == std::string::npos) return text;
  std::string known = text.substr(0, end + 1) + "'";
  for (const char c : text.substr(end + 1)) known += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return known + "'";
}

// In a function, local and declare hide the outer variable until the function ends. -A declares an array by name, -n
// another name for a variable.
void Interpreter::declare(const Texts& raw, Mode mode) {
  const auto has = [&](char option) {
    return std::ranges::any_of(
        raw, [&](const std::string& word) { return word.starts_with('-') && word.find(option) != std::string::npos; });
  };
  const bool global = raw[0] == "export" || raw[0] == "readonly" || has('g');
  for (std::size_t i = 1; i < raw.size(); ++i) {
    if (raw[i].starts_with('-')) continue;
    const std::string word = with_known_name(raw[i]);
    const std::size_t end = word.find_first_of("=[+");
    const std::string name = word.substr(0, end);
    if (is_unknown(name)) continue;
    const bool bare = end == std::string::npos, fixed = script_.variables.fixed.contains(name);
    if (!global && !locals_.empty() && !fixed) hide(name, bare && !has('A'));
    if (has('n') && !bare && !fixed) {
      const std::string other = expander_.text(std::string_view(word).substr(end + 1));
      if (other != name && !is_unknown(other)) script_.variables.references[name] = other;
      if (is_unknown(other)) script_.variables.forget(name, other);
      continue;
    }
    if (has('A') && !fixed && script_.variables.table(name) == nullptr) script_.variables.tables[name];
    if (assigned_name(word) > 0) assign(word, mode);
    if (raw[0] == "readonly" && script_.variables.find(name) != nullptr) script_.variables.fixed.insert(name);
  }
}

// set -- a b, and set a b, give the script arguments; set -u and set -euo pipefail are options of the shell. Options
// end at the first word that is none.
void Interpreter::set_options(const Texts& words) {
  std::size_t at = 1;
  for (; at < words.size() && words[at].size() > 1 && words[at] != "--"; ++at) {
    const std::string& word = words[at];
    if (word[0] != '-' && word[0] != '+') break;
    const bool named = word.ends_with('o') && at + 1 < words.size();
    if (word.find('e') != std::string::npos || (named && words[at + 1] == "errexit")) failure_ends_ = word[0] == '-';
    if (word.find('u') != std::string::npos || (named && words[at + 1] == "nounset")) unset_fails_ = word[0] == '-';
    if (named) ++at;
  }
  const bool marked = at < words.size() && words[at] == "--";
  if (!marked && at >= words.size()) return;
  script_.variables.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at + (marked ? 1 : 0)), words.end());
  script_.variables.arguments_stated = true;
}

// #!/bin/bash -eu
void Interpreter::options_of_first_line(std::string_view text) {
  if (!text.starts_with("#!")) return;
  Texts options{"set"};
  for (const Token& token : tokens_of(text.substr(2, text.find('\n') - 2)))
    if (token.text.starts_with('-') && token.text != "-S" && !token.text.starts_with("--"))
      options.push_back(token.text);
  set_options(options);
}

void Interpreter::shift(const Texts& words) {
  Variables& variables = script_.variables;
  const std::string count = words.size() > 1 ? words[1] : "1";
  const bool digit = count.size() == 1 && std::isdigit(static_cast<unsigned char>(count[0])) != 0;
  if (!digit) variables.arguments_stated = false;
  const std::size_t most = variables.arguments.size();
  const std::size_t gone = digit ? std::min(static_cast<std::size_t>(count[0] - '0'), most) : most;
  variables.arguments.erase(variables.arguments.begin(),
                            variables.arguments.begin() + static_cast<std::ptrdiff_t>(gone));
}

// getopts "n:t:" NAME: one option of the script's arguments. Without arguments there is none.
Outcome Interpreter::getopts(const Texts& words) {
  Variables& variables = script_.variables;
  if (variables.arguments.empty() && !variables.arguments_stated) variables.lacks_options = true;
  const std::string &letters = words[1], &name = words[2];
  const auto stated = variables.values.find("OPTIND");
  const std::string place = stated == variables.values.end() || stated->second.empty() ? "1" : stated->second.front();
  std::size_t at = 1;
  if (std::from_chars(place.data(), place.data() + place.size(), at).ec != std::errc() || at < 1) return Outcome::kOpen;
  const auto end = [&] {
    variables.set(name, {"?"});
    option_at_ = 1;
    return Outcome::kNo;
  };
  if (at > variables.arguments.size()) return end();
  const std::string word = variables.arguments[at - 1];
  if (is_unknown(word)) return Outcome::kOpen;
  if (word.size() < 2 || word[0] != '-' || word == "--") return end();
  const char letter = word[std::min(option_at_, word.size() - 1)];
  const std::size_t known = letter == ':' ? letters.npos : letters.find(letter);
  const bool valued = known != letters.npos && known + 1 < letters.size() && letters[known + 1] == ':';
  const std::string rest = word.substr(std::min(option_at_ + 1, word.size()));
  variables.set(name, {known == letters.npos ? "?" : std::string(1, letter)});
  ++option_at_;
  if (valued) {
    if (rest.empty()) ++at;
    const bool missing = rest.empty() && at > variables.arguments.size();
    variables.set("OPTARG", {missing ? "" : rest.empty() ? variables.arguments[at - 1] : rest});
    if (missing) variables.set(name, {"?"});
  }
  if (valued || rest.empty()) {
    ++at;
    option_at_ = 1;
  }
  variables.set("OPTIND", {std::to_string(at)});
  return Outcome::kYes;
}

// let NAME=1 NAME*=2
Outcome Interpreter::let(const Texts& words) {
  std::string value = "0";
  for (std::size_t i = 1; i < words.size(); ++i) value = expander_.number(words[i]);
  return is_unknown(value) ? Outcome::kOpen : outcome_of(value != "0");
}

}  // namespace foretoken::io::shell

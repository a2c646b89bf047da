// Expands the words of a script.
//
// Forms and their order: POSIX.1-2017, Shell Command Language, section 2.6, and bash's arrays and substitutions.
#include "sim/io/import/launch/shell/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/io/import/launch/shell/arithmetic.h"
#include "sim/io/import/launch/shell/braces.h"
#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/substitute.h"

namespace foretoken::io::shell {
namespace {

constexpr int kDeepestExpansion = 32;

// ${NAME[@]} and $@ give a word for each text, so none for no text; ${NAME[*]} and $* give one word within quotes.
bool is_list(std::string_view name, char place) {
  return name == std::string_view(&place, 1) ||
         (name.ends_with(']') && name.size() > 2 && name[name.size() - 2] == place);
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Inside back quotes a backslash takes the meaning of a dollar, a back quote and a backslash away once more.
std::string without_backslashes(std::string_view command, bool quoted) {
  std::string text;
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char next = command[at] == '\\' && at + 1 < command.size() ? command[at + 1] : '\0';
    if (next == '$' || next == '`' || next == '\\' || (quoted && next == '"')) ++at;
    text += command[at];
  }
  return text;
}

}  // namespace

// Collects fields. A quoted part keeps a field open although it is empty, unless a list without texts stands in it.
struct Expander::Builder {
  Texts fields{};
  std::string current{};
  bool open = false, splits = true, is_pattern = false, no_texts = false;
  int quotes = 0;

  void literal(std::string_view text) {
    open = true;
    if (!is_pattern || quotes == 0) {
      current += text;
      return;
    }
    for (const char c : text) {
      if (std::string_view("*?[]\\").find(c) != std::string_view::npos) current += '\\';
      current += c;
    }
  }

  template <class Body>
  void in_quotes(const Body& body) {
    ++quotes;
    body();
    --quotes;
  }

  template <class Body>
  void in_double_quotes(const Body& body) {
    no_texts = false;
    in_quotes(body);
    open = open || !no_texts;
  }

  void close() {
    if (open) fields.push_back(std::move(current));
    current.clear();
    open = false;
  }

  void result(std::string_view text, bool quoted) {
    if (quoted || !splits) return literal(text);
    bool unknown = false;  // the reason of an unknown part may hold spaces
    for (const char c : text) {
      if (c == kUnknown) unknown = !unknown;
      if (is_blank(c) && !unknown)
        close();
      else
        literal(std::string_view(&c, 1));
    }
  }

  void results(const Texts& texts, bool quoted) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) splits ? close() : literal(" ");
      result(texts[i], quoted);
    }
  }
};

void Expander::parts(std::string_view word, bool quoted, Builder& out) {
  if (depth_ > kDeepestExpansion) return out.literal(unknown_because("words that are nested too deep"));
  ++depth_;
  for (std::size_t at = 0; at < word.size() && !budget_.spent;) {
    if (!quoted && word.substr(at).starts_with("$\"")) ++at;  // a text to translate
    const bool plain = quoted && (word[at] == '"' || word[at] == '\'');
    const bool place = !quoted && word[at] == '<';
    std::size_t end = plain ? at + 1 : end_of_part(word, at);
    if (place) end = std::min(word.find('>', at), word.size() - 1) + 1;
    part(word.substr(at, end - at), quoted, out);
    at = end;
  }
  --depth_;
  budget_.take(out.current.size() / 16 + 1);
}

Texts Expander::fields(std::string_view word) {
  Texts all;
  Texts words = with_braces(word);
  if (words.empty()) budget_.spent = true;
  for (const std::string& one : words) {
    Builder out;
    parts(one, false, out);
    out.close();
    budget_.take_words(out.fields.size());
    if (words.size() == 1) return std::move(out.fields);
    for (std::string& field : out.fields) all.push_back(std::move(field));
  }
  return all;
}

Texts Expander::known_fields(std::string_view word) {
  return while_on(asks_, [&] { return fields(word); });
}

std::string Expander::known_text(std::string_view word) {
  return while_on(asks_, [&] { return text(word); });
}

Texts Expander::tested_fields(std::string_view word) {
  return while_on(tests_, [&] { return known_fields(word); });
}

std::string Expander::tested_text(std::string_view word) {
  return while_on(tests_, [&] { return known_text(word); });
}

std::string Expander::pattern(std::string_view word) {
  Builder out;
  out.splits = false;
  out.is_pattern = true;
  return while_on(asks_, [&] {
    parts(word, false, out);
    return std::move(out.current);
  });
}

std::string Expander::text(std::string_view word) {
  Builder out;
  out.splits = false;
  parts(word, false, out);
  return std::move(out.current);
}

void Expander::part(std::string_view text, bool quoted, Builder& out) {
  const auto inside = [&](std::size_t open, std::size_t close) {
    return text.substr(open, text.size() > open + close ? text.size() - open - close : 0);
  };
  const char first = text[0];
  if (first == '\'' && !quoted && text.size() > 1) return out.in_quotes([&] { out.literal(inside(1, 1)); });
  if (first == '"' && !quoted && text.size() > 1) return out.in_double_quotes([&] { parts(inside(1, 1), true, out); });
  if (first == '\\' && text.size() > 1) {
    const bool kept = quoted && std::string_view("$`\"\\\n").find(text[1]) == std::string_view::npos;
    if (kept)
      out.literal(text);
    else if (text[1] != '\n')
      out.in_quotes([&] { out.literal(text.substr(1)); });
    return;
  }
  if (first == '<' && !quoted) return out.literal(unknown_because("a place for a value in the script"));
  if (first == '`') return out.result(output_of(without_backslashes(inside(1, 1), quoted)), quoted);
  if (first != '$' || text.size() == 1) return out.literal(text);
  if (text.starts_with("$((") && text.ends_with("))")) return out.literal(number(inside(3, 2)));
  if (text[1] == '(') return out.result(output_of(inside(2, 1)), quoted);
  if (text[1] == '\'') return out.literal(inside(2, 1));
  parameter(text[1] == '{' ? inside(2, 1) : text.substr(1), quoted, out);
}

// $1 is an argument of the script. Its value is unknown until the user states the arguments.
Expander::Value Expander::special(std::string_view name) {
  const Texts& arguments = variables_.arguments;
  if (name == "0" || name == "BASH_SOURCE") return {{variables_.script}, true};
  // Jobs start where they were submitted, which is taken for the folder of the script: sbatch(1), qsub(1).
  const bool submitted =
      (name == "PBS_O_WORKDIR" && variables_.under_pbs) || (name == "SLURM_SUBMIT_DIR" && variables_.under_slurm);
  if (name == "PWD" || submitted) return {{variables_.folder}, true};
  if (name == "@" || name == "*") return {arguments, !arguments.empty()};
  if (name == "#") return {{fmt::format("{}", arguments.size())}, true};
  if (name == "?") return {{unknown_because("the status of a command")}, true};
  // Bash sets all but the last, which the runtime of NVIDIA's containers does.
  constexpr std::string_view kOfTheRun[] = {"RANDOM", "SECONDS", "$", "!", "PIPESTATUS", "NVIDIA_VISIBLE_DEVICES"};
  if (std::ranges::find(kOfTheRun, name) != std::end(kOfTheRun)) return {{unknown_because(name)}, true};
  if (const auto found = variables_.scheduler.find(name); found != variables_.scheduler.end())
    return {{found->second}, true};
  if (variables_.under_slurm && name.starts_with("SLURM_")) return {{unknown_because(name)}, true};
  if (name.find_first_not_of("0123456789") != name.npos || name.empty() || name.size() > 4)
    return asks_ && !name.empty() ? Value{{unset_variable(variables_.source_of(name))}, false} : Value{};
  const auto number = static_cast<std::size_t>(std::stoi(std::string(name)));
  if (number == 0) return {{variables_.script}, true};
  if (number <= arguments.size()) return {{arguments[number - 1]}, true};
  if (variables_.arguments_stated) return {};
  return {{unknown_because(unstated_argument(number))}, false};
}

Expander::Value Expander::read(std::string_view reference) {
  const std::size_t bracket = reference.find('[');
  const std::string_view name = reference.substr(0, bracket);
  const Texts* const found = variables_.find(name);
  const NamedTexts* const table = variables_.table(name);
  Value value;
  if (table == nullptr) {
    value = found != nullptr ? Value{*found, !found->empty()} : special(name);
  } else {
    for (const auto& [key, text_of_key] : *table) value.texts.push_back(text_of_key);
    value.is_set = !table->empty();
  }
  if (bracket != reference.npos) {
    const std::size_t length = reference.size() - bracket - 2;
    return element(name, reference.substr(bracket + 1, length), value);
  }
  if (table != nullptr) return {};
  if (name != "@" && name != "*" && value.texts.size() > 1) value.texts.resize(1);
  return value;
}

// NAME[place], where place is *, @, a number, or the name of an element of a table.
Expander::Value Expander::element(std::string_view name, std::string_view place, const Value& whole) {
  const std::string index = text(place);
  if (index == "@" || index == "*") return whole;
  if (const NamedTexts* const table = variables_.table(name); table != nullptr) {
    if (is_unknown(index)) return {{unknown_because(fmt::format("an element of {}", name))}, true};
    const auto found = table->find(index);
    return found == table->end() ? Value{} : Value{{found->second}, true};
  }
  const auto at = arithmetic(index, [this](std::string_view inner) { return value_of(inner); });
  if (!at) return {{unknown_because(fmt::format("element {} of {}", index, name))}, true};
  const auto size = static_cast<std::int64_t>(whole.texts.size());
  if (*at >= size && size > 0 && is_one_unknown(whole.texts.back(), "")) return {{whole.texts.back()}, true};
  if (*at >= size || *at < -size) return {};
  return {{whole.texts[static_cast<std::size_t>(*at < 0 ? *at + size : *at)]}, true};
}

std::optional<bool> Expander::is_set(std::string_view reference) {
  const Value value = read(reference);
  if (value.texts.empty()) return value.is_set;
  if (is_unset(value.texts.front())) return false;
  return is_unknown(value.texts.front()) ? std::nullopt : std::optional(true);
}

// ${!NAME[@]}: the names of a table, or the places of an array.
Texts Expander::names_of(std::string_view reference) {
  const std::string_view name = reference.substr(0, reference.find('['));
  Texts names;
  if (const NamedTexts* const table = variables_.table(name); table != nullptr) {
    for (const auto& [key, value] : *table) names.push_back(key);
    return names;
  }
  const Value value = read(reference);
  for (std::size_t i = 0; i < value.texts.size(); ++i) {
    if (is_unknown(value.texts[i])) return {value.texts[i]};
    names.push_back(fmt::format("{}", i));
  }
  return names;
}

std::string Expander::value_of(std::string_view name) {
  const Value value = read(name);
  return value.texts.empty() ? "" : value.texts.front();
}

// Returns true for an empty variable that the environment or an option of the script may fill in a run.
bool Expander::may_hold_more(std::string_view name, const Value& value) const {
  if (value.texts.size() != 1 || !value.texts[0].empty()) return false;
  return variables_.lacks_options || variables_.emptied.contains(variables_.meant_by(name));
}

// ${NAME}, ${#NAME}, ${!NAME}, and ${NAME<operator>...}
void Expander::parameter(std::string_view inner, bool quoted, Builder& out) {
  if (inner.size() > 1 && inner[0] == '#') {
    const Value value = read(inner.substr(1));
    const bool elements = inner.ends_with("[@]") || inner.ends_with("[*]");
    if (const auto hosts = elements ? count_of_hosts(value.texts) : std::nullopt) return out.literal(*hosts);
    for (const std::string& one : value.texts)
      if (is_unknown(one)) return out.literal(unknown_because(why_unknown(one)));
    const std::size_t length = value.texts.empty() ? 0 : value.texts[0].size();
    return out.literal(fmt::format("{}", elements ? value.texts.size() : length));
  }
  if (inner.size() > 1 && inner[0] == '!') {
    if (inner.ends_with("[@]") || inner.ends_with("[*]")) return listed(inner, names_of(inner.substr(1)), quoted, out);
    const std::string name = value_of(inner.substr(1));
    return out.results(is_unknown(name) ? Texts{name} : read(name).texts, quoted);
  }
  if (inner.size() > 1 && inner[0] == '$' && is_of_name(inner[1]))
    return out.literal(unknown_because(fmt::format("${{{}}}, a bad substitution that no shell expands", inner)));
  std::size_t end = inner.empty() ? 0 : 1;
  if (!inner.empty() && is_of_name(inner[0]))
    while (end < inner.size() && is_of_name(inner[end])) ++end;
  if (end < inner.size() && inner[end] == '[') end = std::min(inner.find(']', end), inner.size() - 1) + 1;
  const std::string_view name = inner.substr(0, end), change = inner.substr(end);
  const Value value = read(name);
  const bool defaults = change == ":-" || change == "-";
  if (tests_ && (change.empty() || defaults) && may_hold_more(name, value))
    return out.literal(unknown_because(std::string(name) + std::string(kEmptyDefault)));
  if (change.empty()) return listed(name, value.texts, quoted, out);
  if (choose(name, value, change, quoted, out)) return;
  if (change[0] == ':' && (name.ends_with("[@]") || name.ends_with("[*]")))
    return listed(name, elements_in(value.texts, text(change)), quoted, out);
  Texts texts;
  for (const std::string& text_of_element : value.texts)
    texts.push_back(is_unknown(text_of_element) ? text_of_element : substituted(text_of_element, text(change)));
  listed(name, texts, quoted, out);
}

void Expander::listed(std::string_view name, const Texts& texts, bool quoted, Builder& out) {
  if (texts.empty() && is_list(name, '@')) out.no_texts = true;
  if ((!quoted && out.splits) || !is_list(name, '*')) return out.results(texts, quoted);
  const Texts* const stated = variables_.find("IFS");  // its first character stands between the texts
  const std::string marks = stated == nullptr || stated->empty() ? " " : stated->front();
  for (const std::string& text : texts) {
    if (&text != texts.data()) out.literal(is_unknown(marks) ? marks : marks.substr(0, 1));
    out.literal(text);
  }
}

// :- - := = :+ + :? ? choose between the value and a word. The colon takes an empty value as unset.
bool Expander::choose(std::string_view name, const Value& value, std::string_view change, bool quoted, Builder& out) {
  const bool colon = change[0] == ':';
  const std::string_view op = change.substr(colon ? 1 : 0, 1),
                         word = change.substr(std::min<std::size_t>(colon ? 2 : 1, change.size()));
  if (op.empty() || std::string_view("-=+?").find(op[0]) == std::string_view::npos) return false;
  // TP=$1; TP=${TP:-4}: without the argument TP is empty, and the default counts.
  const bool empty = value.texts.empty() ||
                     (value.texts.size() == 1 && (value.texts[0].empty() || holds_only_unstated(value.texts[0])));
  const bool has = value.is_set && !(colon && empty);
  if (op == "+") {
    has ? parts(word, quoted, out) : listed(name, {}, quoted, out);
    return true;
  }
  if (has || (op == "?" && !value.texts.empty())) return listed(name, value.texts, quoted, out), true;
  if (op == "?") return out.literal(unknown_because(fmt::format("{}, which the script expects to be set", name))), true;
  if (op == "=") {
    const std::string assigned = text(word);
    variables_.set(std::string(name), {assigned});
    return out.result(value_of(name), quoted), true;
  }
  const bool unstated = !value.texts.empty() && (is_unset(value.texts[0]) || holds_only_unstated(value.texts[0]));
  if (tests_ && word.empty() && unstated)
    out.literal(unknown_because(std::string(name) + std::string(kEmptyDefault)));
  else
    parts(word, quoted, out);
  return true;
}

}  // namespace foretoken::io::shell

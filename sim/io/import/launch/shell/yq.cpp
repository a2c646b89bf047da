// Evaluates the small part of yq's language that launch scripts use.
//
// An expression is a pipeline. Every part maps a list of values to a list of values: `.[]` makes many of one, `select`
// drops some. The language: https://mikefarah.gitbook.io/yq, version 4.
#include "sim/io/import/launch/shell/yq.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/yaml/read_yaml.h"

namespace foretoken::io::shell {
namespace {

using Value = nlohmann::ordered_json;
using Values = std::vector<Value>;

constexpr std::size_t kMostValues = 20'000;
constexpr std::size_t kMostParts = 64;        // of a pipeline
constexpr std::size_t kMostWork = 2'000'000;  // characters of parts, once for each value that they map

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Splits at a mark that stands outside of brackets and quotes.
std::vector<std::string_view> split_outside(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != mark || depth != 0) continue;
    parts.push_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  parts.push_back(trimmed(text.substr(begin)));
  return parts;
}

// NAME(inside); nothing where the part is something else.
std::optional<std::string_view> inside_of(std::string_view part, std::string_view name) {
  if (!part.starts_with(name) || !part.ends_with(')')) return std::nullopt;
  part.remove_prefix(name.size());
  part = trimmed(part);
  if (!part.starts_with('(')) return std::nullopt;
  return trimmed(part.substr(1, part.size() - 2));
}

std::optional<std::string> literal(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.find_first_of("\"\\") != text.npos) return std::nullopt;
  return std::string(text);
}

// The keys of .a."b-c"; nothing for another form.
std::optional<std::vector<std::string>> path_of(std::string_view text) {
  std::vector<std::string> keys;
  if (text == ".") return keys;
  while (!text.empty()) {
    if (text.front() != '.' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
    const bool quoted = text.front() == '"';
    const std::size_t end = quoted ? text.find('"', 1) : std::min(text.find('.'), text.size());
    if (end == text.npos) return std::nullopt;
    const std::string_view key = quoted ? text.substr(1, end - 1) : text.substr(0, end);
    const bool plain =
        std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
    if (key.empty() || (!quoted && !plain)) return std::nullopt;
    keys.emplace_back(key);
    text.remove_prefix(quoted ? end + 1 : end);
  }
  return keys;
}

Value value_at(const Value& value, const std::vector<std::string>& keys) {
  const Value* place = &value;
  for (const std::string& key : keys) {
    if (!place->is_object()) return nullptr;
    const auto found = place->find(key);
    if (found == place->end()) return nullptr;
    place = &*found;
  }
  return *place;
}

std::optional<std::string> text_of_value(const Value& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "";
  return std::nullopt;
}

// "text", or the scalar at a path.
std::optional<std::string> term(std::string_view text, const Value& value) {
  if (const auto quoted = literal(text)) return quoted;
  const auto keys = path_of(text);
  return keys ? text_of_value(value_at(value, *keys)) : std::nullopt;
}

std::optional<std::string> sum(std::string_view text, const Value& value) {
  std::string result;
  for (const std::string_view part : split_outside(text, '+')) {
    const auto one = term(part, value);
    if (!one) return std::nullopt;
    result += *one;
  }
  return result;
}

// .value != "false"
std::optional<bool> holds(std::string_view text, const Value& value) {
  const bool differs = text.find("!=") != text.npos;
  const std::size_t at = text.find(differs ? "!=" : "==");
  if (at == text.npos) return std::nullopt;
  const auto left = term(trimmed(text.substr(0, at)), value), right = term(trimmed(text.substr(at + 2)), value);
  if (!left || !right) return std::nullopt;
  return (*left == *right) != differs;
}

// with(select(CONDITION); .key = "text")
bool change(std::string_view inside, Value& value) {
  const auto parts = split_outside(inside, ';');
  if (parts.size() != 2) return false;
  const auto condition = inside_of(parts[0], "select");
  const auto asked = condition ? holds(*condition, value) : std::nullopt;
  const std::size_t equals = parts[1].find('=');
  if (!asked || equals == std::string_view::npos) return false;
  const auto keys = path_of(trimmed(parts[1].substr(0, equals)));
  const auto text = literal(trimmed(parts[1].substr(equals + 1)));
  if (!keys || keys->size() != 1 || !text || !value.is_object()) return false;
  if (*asked) value[keys->front()] = *text;
  return true;
}

Values elements_of(const Value& value) {
  Values elements;
  if (value.is_array() || value.is_object())
    for (const auto& [key, element] : value.items()) elements.push_back(element);
  return elements;
}

Value entries_of(const Value& value) {
  Value entries = Value::array();
  if (value.is_object())
    for (const auto& [key, element] : value.items()) entries.push_back({{"key", key}, {"value", element}});
  return entries;
}

Value keys_of(const Value& value) {
  Value keys = Value::array();
  if (value.is_object())
    for (const auto& [key, element] : value.items()) keys.push_back(key);
  return keys;
}

std::optional<Value> joined_by(const std::string& mark, const Value& value) {
  if (!value.is_array()) return std::nullopt;
  std::string result;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto text = text_of_value(value[i]);
    if (!text) return std::nullopt;
    result += (i > 0 ? mark : "") + *text;
  }
  return Value(result);
}

// What one part of a pipeline makes of one value; nothing for a part that is not read.
std::optional<Values> mapped(std::string_view part, Value value) {
  if (part == "... comments=\"\"" || part == ".") return Values{std::move(value)};
  if (part == ".[]") return elements_of(value);
  if (part == "to_entries") return Values{entries_of(value)};
  if (part == "keys") return Values{keys_of(value)};
  if (const auto condition = inside_of(part, "select")) {
    const auto asked = holds(*condition, value);
    if (!asked) return std::nullopt;
    return *asked ? Values{std::move(value)} : Values{};
  }
  if (const auto inside = inside_of(part, "with"))
    return change(*inside, value) ? std::optional(Values{std::move(value)}) : std::nullopt;
  if (const auto inside = inside_of(part, "join")) {
    const auto mark = literal(*inside);
    const auto text = mark ? joined_by(*mark, value) : std::nullopt;
    return text ? std::optional(Values{*text}) : std::nullopt;
  }
  if (part.starts_with('[') && part.ends_with(']')) {
    const auto text = sum(part.substr(1, part.size() - 2), value);
    return text ? std::optional(Values{Value::array({*text})}) : std::nullopt;
  }
  if (const auto keys = path_of(part)) return Values{value_at(value, *keys)};
  const auto text = sum(part, value);
  return text ? std::optional(Values{*text}) : std::nullopt;
}

std::optional<Values> evaluated(std::string_view expression, Value document) {
  Values values;
  values.push_back(std::move(document));
  const auto parts = split_outside(expression, '|');
  if (parts.size() > kMostParts) return std::nullopt;
  std::size_t work = 0;
  for (const std::string_view part : parts) {
    work += part.size() * values.size();
    if (work > kMostWork) return std::nullopt;
    Values next;
    for (Value& value : values) {
      auto made = mapped(part, std::move(value));
      if (!made || next.size() + made->size() > kMostValues) return std::nullopt;
      std::ranges::move(*made, std::back_inserter(next));
    }
    values = std::move(next);
  }
  return values;
}

// YAML allows no control characters, so unknown parts carry another mark while they are YAML.
constexpr std::string_view kPrivateMark = "\xEE\x80\x80";

std::string with_private_marks(const std::string& text) {
  std::string result;
  for (const char c : text) c == kUnknown ? result += kPrivateMark : result += c;
  return result;
}

std::string with_own_marks(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool mark = text.compare(at, kPrivateMark.size(), kPrivateMark) == 0;
    result += mark ? kUnknown : text[at];
    at += mark ? kPrivateMark.size() : 1;
  }
  return result;
}

}  // namespace

std::optional<std::string> yq_output(const Texts& words, const TextOfFile& text_of) {
  Texts rest;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] != "-r" && words[i] != "e" && words[i] != "eval") rest.push_back(words[i]);
  const auto text = rest.size() == 2 ? text_of(rest[1]) : std::nullopt;
  if (!text) return std::nullopt;
  Findings unread;
  auto document = launch::read_yaml(with_private_marks(*text), rest[1], unread);
  auto values = document ? evaluated(rest[0], std::move(*document)) : std::nullopt;
  if (!values) return std::nullopt;
  std::string output;
  for (const Value& value : *values) {
    const auto line = value.is_null() ? std::optional<std::string>("null") : text_of_value(value);
    if (!line) return std::nullopt;
    output += *line + "\n";
  }
  return with_own_marks(output);
}

}  // namespace foretoken::io::shell

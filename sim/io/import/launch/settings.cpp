// Looks up settings by dotted keys.
#include "sim/io/import/launch/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/trained_parts.h"

namespace foretoken::io::launch {
namespace {

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A list is one text, also where it has lists inside: "[a, b]" is "a b".
std::string text_of_value(const Json& value) {
  if (!value.is_array()) return scalar_text(value);
  std::string all;
  for (const Json& one : value) all += (all.empty() ? "" : " ") + scalar_text(one);
  return all;
}

void collect(const Json& value, const std::string& key, std::vector<std::pair<std::string, const Json*>>& leaves) {
  if (!value.is_object() || value.empty()) return leaves.emplace_back(key, &value), void();
  for (const auto& [name, member] : value.items()) collect(member, key.empty() ? name : key + "." + name, leaves);
}

bool is_open(std::string_view text) {
  return text == "auto" || text.starts_with("${") || text.starts_with("<") || shell::is_unknown(text);
}

// fp8, int8, 4bit: the setting is about precision, whatever its name is.
bool is_type(const std::string& text) {
  return words_of_name(text).size() == 1 && text.find_first_of("0123456789") != text.npos &&
         names_something_costly(text);
}

// Returns true where a section that holds the key says of itself that it is off: {"enabled": false, ...}.
bool in_unused_section(const Json& document, std::string_view key) {
  const Json* place = &document;
  for (std::size_t begin = 0, dot = key.find('.'); dot != key.npos; begin = dot + 1, dot = key.find('.', begin)) {
    const auto section = place->find(std::string(key.substr(begin, dot - begin)));
    if (section == place->end() || !section->is_object()) return false;
    const auto enabled = section->find("enabled");
    if (enabled != section->end() && enabled->is_string() && !switch_of(enabled->get<std::string>()).value_or(true))
      return true;
    place = &*section;
  }
  return false;
}

// Ends the reason of a refusal where the value may as well be off.
std::string why_open(const std::string& text) {
  const std::string reason = shell::why_unknown(text);
  return reason.empty() ? "" : "; its value is " + printable(reason, 120) + "; state it " + way_to_state(reason);
}

// Returns true where `keys` lists the key without a *.
bool lists_whole_key(std::string_view keys, const std::string& key) {
  return (" " + std::string(keys) + " ").find(" " + key + " ") != std::string::npos;
}

}  // namespace

bool lists_key(std::string_view keys, std::string_view key) {
  while (!keys.empty()) {
    const std::size_t space = std::min(keys.find(' '), keys.size());
    const std::string_view one = keys.substr(0, space);
    if (one == key || (one.ends_with('*') && key.starts_with(one.substr(0, one.size() - 1)))) return true;
    keys.remove_prefix(std::min(space + 1, keys.size()));
  }
  return false;
}

Json as_texts(const Json& document) {
  if (document.is_object()) {
    Json result = Json::object();
    for (const auto& [key, value] : document.items()) result[key] = as_texts(value);
    return result;
  }
  if (document.is_array()) {
    Json result = Json::array();
    for (const Json& value : document) result.push_back(as_texts(value));
    return result;
  }
  return document.is_null() ? Json(nullptr) : Json(scalar_text(document));
}

const Json* Settings::at(std::string_view key) const {
  asked_.emplace(key);
  return find(key);
}

const Json* Settings::find(std::string_view key) const {
  const Json* place = &document_;
  while (!key.empty()) {
    if (!place->is_object()) return nullptr;
    // A key may itself hold dots.
    if (const auto whole = place->find(std::string(key)); whole != place->end()) return &*whole;
    const std::size_t dot = std::min(key.find('.'), key.size());
    const auto found = place->find(std::string(key.substr(0, dot)));
    if (found == place->end()) return nullptr;
    place = &*found;
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return place;
}

std::string Settings::from(Names names) const {
  std::string stated;
  for (const std::string_view name : names) {
    const Json* const value = find(name);
    const bool section = value != nullptr && value->is_object() && !value->empty();
    if (!section) asked_.emplace(name);  // the keys inside a section are still to be read
    if (value == nullptr || value->is_null() || !stated.empty()) continue;
    if (value->is_string() && (*value == "" || *value == "None" || *value == "none")) continue;
    stated = name;
  }
  return stated;
}

std::optional<std::string> Settings::text(Names names) const {
  const std::string key = from(names);
  if (key.empty()) return std::nullopt;
  return text_of_value(*find(key));
}

bool Settings::says_none(std::string_view key) const {
  const Json* const value = at(key);
  return value != nullptr && *value == "none";
}

std::optional<double> Settings::number(Names names) const {
  const auto stated = text(names);
  if (!stated || is_open(*stated)) return std::nullopt;
  const auto value = number_of_text(*stated);
  if (!value) report_.refuse(from(names), "expected a number, found " + in_quotes(*stated));
  return value;
}

std::optional<std::int64_t> Settings::whole(Names names) const {
  const auto stated = text(names);
  if (!stated || is_open(*stated)) return std::nullopt;
  const auto value = whole_of(*stated);
  if (!value) report_.refuse(from(names), "expected a whole number, found " + in_quotes(*stated));
  return value;
}

bool Settings::on(Names names) const {
  const auto stated = text(names);
  return stated && switch_of(*stated).value_or(true);
}

std::optional<std::int64_t> Settings::map_whole(Names names, std::string_view key) const {
  const auto value = whole(names);
  if (value) report_.map(key, *value, from(names));
  return value;
}

std::int64_t Settings::map_or(Names names, std::string_view key, std::int64_t fallback,
                              std::string_view because) const {
  if (const auto value = map_whole(names, key)) return *value;
  report_.assume(key, fallback, std::string(because));
  return fallback;
}

std::vector<std::pair<std::string, const Json*>> Settings::leaves() const {
  std::vector<std::pair<std::string, const Json*>> all;
  collect(document_, "", all);
  return all;
}

void Settings::ignore_variables(const std::set<std::string>& variables, std::span<const KeyRule> rules) const {
  for (const std::string& name : variables) {
    const bool ruled = std::ranges::any_of(rules, [&](const KeyRule& rule) { return lists_key(rule.keys, name); });
    if (ruled || was_asked(name)) continue;
    (void)at(name);
    report_.ignore(printable(name, 80), "");
  }
}

void Settings::sort_rest(std::span<const KeyRule> rules, Unknown unknown) const {
  for (const auto& [key, value] : leaves()) {
    if (was_asked(key)) {
      if (!value->is_null()) report_.read.push_back(printable(key, 80));
      continue;
    }
    const bool inside = std::ranges::any_of(asked_, [&key = key](const std::string& asked) {
      return key.starts_with(asked) && key.size() > asked.size() && key[asked.size()] == '.';
    });
    if (inside) continue;  // a rule has read the whole section
    const std::string setting = printable(key, 80);
    auto rule = std::ranges::find_if(rules, [&key = key](const KeyRule& one) { return lists_key(one.keys, key); });
    const bool without_effect = rule != rules.end() && rule->because.empty();
    const bool by_form = without_effect && unknown == Unknown::kByName && !lists_whole_key(rule->keys, key);
    if (by_form && is_never_harmless(key)) rule = rules.end();
    const bool empty = value->is_null() || (value->is_structured() && value->empty());
    const std::string text = value->is_string() ? value->get<std::string>() : "";
    const bool one_rank =
        text == "1" && (key.ends_with("hpz_partition_size") ||
                        ((key.ends_with("_size") || key.ends_with("_degree") || key.ends_with("_dim")) &&
                         key.find("parallel") != std::string::npos));
    const bool off = empty || one_rank || in_unused_section(document_, key) ||
                     (value->is_string() && (!switch_of(text).value_or(true) || number_of_text(text) == 0));
    if (!empty && rule == rules.end() && unknown == Unknown::kByName && says_what_trains(key))
      report_.refuse(setting, "it says which weights of the program train; full training and LoRA are modelled");
    else if (off || (rule != rules.end() && rule->because.empty()))
      report_.ignore(setting, "");
    else if (rule == rules.end() && unknown == Unknown::kByName && is_harmless_name(key))
      report_.approximate(setting, kHarmlessByName);
    else if (rule == rules.end() && unknown == Unknown::kByName && !number_of_text(text) &&
             !names_something_costly(key) && !is_type(text))
      report_.approximate(setting, kNothingCostly);
    else if (rule == rules.end())
      report_.refuse(setting, std::string("an unknown key") + kUnlessFree + setting);
    else if (rule->refused)
      report_.refuse(setting, std::string(rule->because) + why_open(text));
    else
      report_.approximate(setting, std::string(rule->because));
  }
}

}  // namespace foretoken::io::launch

// The arguments of a launch.
#include "sim/io/import/launch/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch {
namespace {

// --name and -name; no negative number, and no bare dash.
bool is_flag(std::string_view word) {
  if (!word.starts_with("-") || word.size() < 2) return false;
  const char first = word.starts_with("--") ? (word.size() > 2 ? word[2] : ' ') : word[1];
  return std::isalpha(static_cast<unsigned char>(first)) != 0 && (word.starts_with("--") || word.size() > 2);
}

bool is_all_unknown(std::string_view word) { return word.size() > 1 && word.front() == shell::kUnknown; }

std::string name_of_flag(std::string_view word) {
  while (word.starts_with('-')) word.remove_prefix(1);
  std::string name(word.substr(0, word.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

std::vector<Argument> arguments_of(const std::vector<std::string>& words, const std::string& place) {
  std::vector<Argument> arguments;
  bool open = false;
  for (const std::string& word : words) {
    if (is_flag(word)) {
      const std::size_t equals = word.find('=');
      arguments.push_back({name_of_flag(word), {}, place});
      if (equals != word.npos) arguments.back().values.push_back(word.substr(equals + 1));
      open = equals == word.npos;
    } else if (word.ends_with(".py")) {
      open = false;
    } else if (open && (arguments.back().values.empty() || !is_all_unknown(word))) {  // else it may hold further flags
      arguments.back().values.push_back(word);
    }
  }
  return arguments;
}

std::optional<double> number_of_text(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != '_') plain += c;
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  const bool whole = error == std::errc() && end == plain.data() + plain.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> whole_of(std::string_view text) {
  const auto value = number_of_text(text);
  constexpr double kMost = 2147483648.0;  // products of two counts stay within 64 bits
  if (!value || std::trunc(*value) != *value || std::abs(*value) > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> switch_of(std::string_view text) {
  const std::string lower = lower_case(text);
  for (const char* yes : {"true", "1", "yes", "on"})
    if (lower == yes) return true;
  for (const char* no : {"false", "0", "no", "off", "null", "none", ""})
    if (lower == no) return false;
  return std::nullopt;
}

std::string joined_values(const Argument& argument) {
  std::string all;
  for (const std::string& value : argument.values) all += (all.empty() ? "" : " ") + value;
  return all;
}

const Argument* last_of(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.rbegin(), arguments.rend(),
                                  [&](const Argument& argument) { return argument.name == name; });
  return found == arguments.rend() ? nullptr : &*found;
}

bool has_any_of(const std::vector<Argument>& arguments, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return last_of(arguments, name) != nullptr; });
}

std::string value_of(const std::vector<Argument>& arguments, std::string_view name) {
  const Argument* const found = last_of(arguments, name);
  return found == nullptr || found->values.empty() ? std::string() : found->values.front();
}

const Argument* Flags::find(std::string_view name) const {
  asked_.emplace(name);
  return last_of(arguments_, name);
}

bool Flags::on(std::string_view name) const {
  const Argument* const argument = find(name);
  return argument != nullptr && (argument->values.empty() || switch_of(argument->values.front()).value_or(true));
}

std::string Flags::from(std::string_view name) const {
  const Argument* const argument = find(name);
  return argument == nullptr ? "" : fmt::format("--{} ({})", name, argument->place);
}

std::optional<std::string> Flags::text(std::string_view name, std::string_view key) const {
  const Argument* const argument = find(name);
  if (argument == nullptr) return std::nullopt;
  report_.read_by_value.emplace(name);
  const std::string all = joined_values(*argument);
  const auto ask = [&](const std::string& why) {
    if (!key.empty()) report_.ask_for_flag(key, fmt::format("{}: {}", from(name), why));
    return std::nullopt;
  };
  if (argument->values.empty()) return ask("it has no value; the script may expect a variable of the environment");
  if (shell::is_unknown(all)) return ask("its value is " + printable(shell::why_unknown(all), 160));
  const bool place = all.starts_with('<') && all.ends_with('>');
  return place ? ask("it holds a place for a value: " + printable(all, 60)) : std::optional(all);
}

std::optional<double> Flags::number(std::string_view name, std::string_view key) const {
  const auto stated = text(name, key);
  if (!stated) return std::nullopt;
  const auto value = number_of_text(*stated);
  if (!value) report_.refuse(fmt::format("--{}", name), "expected a number, found " + in_quotes(*stated), from(name));
  return value;
}

std::optional<std::int64_t> Flags::whole(std::string_view name, std::string_view key) const {
  const auto stated = text(name, key);
  if (!stated) return std::nullopt;
  const auto value = whole_of(*stated);
  if (!value)
    report_.refuse(fmt::format("--{}", name), "expected a whole number, found " + in_quotes(*stated), from(name));
  return value;
}

std::optional<std::int64_t> Flags::map_whole(std::string_view name, std::string_view key) const {
  const auto value = whole(name, key);
  if (value) report_.map(key, *value, from(name));
  return value;
}

}  // namespace foretoken::io::launch

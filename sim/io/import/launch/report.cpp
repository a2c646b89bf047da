// Collects the report on a launch file.
#include "sim/io/import/launch/report.h"

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"

namespace foretoken::io::launch {
namespace {

std::string short_text(const Json& value) {
  constexpr std::size_t kLongest = 200;
  const std::string text =
      value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return printable(text, kLongest);
}

std::string_view next_part(std::string_view& key) {
  const std::size_t dot = std::min(key.find('.'), key.size());
  const std::string_view part = key.substr(0, dot);
  key.remove_prefix(std::min(dot + 1, key.size()));
  return part;
}

// Returns one spelling of a setting: "--recompute-foo" without its dashes, and "/recompute/layers" with dots.
std::string common_spelling(std::string_view setting) {
  if (setting.starts_with("--")) return std::string(setting.substr(2));
  if (!setting.starts_with('/')) return std::string(setting);
  std::string key(setting.substr(1));
  std::ranges::replace(key, '/', '.');
  return key;
}

}  // namespace

void Report::set(std::string_view key, Json value) {
  Json* place = &scenario;
  while (!key.empty()) place = &(*place)[std::string(next_part(key))];
  *place = std::move(value);
}

Json Report::at(std::string_view key) const {
  const Json* place = &scenario;
  while (!key.empty()) {
    if (!place->is_object()) return nullptr;
    const auto found = place->find(std::string(next_part(key)));
    if (found == place->end()) return nullptr;
    place = &*found;
  }
  return *place;
}

std::optional<std::int64_t> Report::whole(std::string_view key) const {
  const Json value = at(key);
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

void Report::remove(std::string_view key) {
  Json* place = &scenario;
  while (key.find('.') != key.npos) {
    const std::string part(next_part(key));
    if (!place->is_object() || !place->contains(part)) return;
    place = &(*place)[part];
  }
  if (place->is_object()) place->erase(std::string(key));
}

void Report::forget(std::string_view key) {
  remove(key);
  const std::string section = std::string(key) + ".";  // "precision" is no part of "precision_recipe"
  const auto inside = [&](const std::string& one) { return (one + ".").starts_with(section); };
  std::erase_if(mapped, [&](const Mapped& one) { return inside(one.key); });
  std::erase_if(assumed, [&](const Assumed& one) { return inside(one.key) && !one.value.empty(); });
}

void Report::drop_lines(std::string_view key) {
  std::erase_if(mapped, [&](const Mapped& one) { return one.key == key; });
  std::erase_if(assumed, [&](const Assumed& one) { return one.key == key; });
}

void Report::map(std::string_view key, Json value, std::string from) {
  drop_lines(key);  // the last setting of a key counts
  mapped.push_back({std::string(key), short_text(value), std::move(from)});
  set(key, std::move(value));
}

void Report::assume(std::string_view key, Json value, std::string because) {
  drop_lines(key);  // a better reason replaces another
  assumed.push_back({std::string(key), short_text(value), std::move(because)});
  set(key, std::move(value));
}

void Report::approximate(std::string setting, std::string because) {
  const bool known = std::ranges::any_of(
      assumed, [&](const Assumed& one) { return one.key == setting && one.value.empty() && one.because == because; });
  if (!known) assumed.push_back({std::move(setting), "", std::move(because)});
}

void Report::refuse(std::string setting, std::string because, std::string from) {
  const bool known = std::ranges::any_of(
      refused, [&](const Refused& one) { return one.setting == setting && one.because == because; });
  if (!known) refused.push_back({std::move(setting), std::move(because), std::move(from)});
}

void Report::refuse_until(std::string_view key, std::string setting, std::string because, std::string from) {
  const std::size_t before = refused.size();
  refuse(std::move(setting), std::move(because), std::move(from));
  if (refused.size() > before) refused.back().key = key;
}

bool Report::asks(std::string_view key) const {
  return std::ranges::any_of(asked, [&](const Asked& open) { return open.key == key; });
}

void Report::ask(std::string_view key, std::string because) {
  if (!asks(key)) asked.push_back({std::string(key), std::move(because)});
}

void Report::ask_for_flag(std::string_view key, std::string because) {
  const std::size_t before = asked.size();
  ask(key, std::move(because));
  if (asked.size() > before) asked.back().flag_is_open = true;
}

void Report::ask_over_default(std::string_view key, std::string because) {
  const std::size_t before = asked.size();
  ask(key, std::move(because));
  if (asked.size() > before) asked.back().default_stands = true;
}

void Report::allow(const std::vector<std::string>& allow) {
  for (Refused& one : refused)
    for (const std::string& name : allow)
      if (name == "all" || common_spelling(one.setting) == common_spelling(name)) one.allowed = true;
}

bool Report::names(std::string_view setting) const {
  const std::string plain(setting), flag = "--" + plain;
  const auto same = [&](std::string_view text) {
    return text == plain || text == flag || text.starts_with(flag + " (") || text.starts_with(plain + " (");
  };
  return std::ranges::any_of(refused, [&](const Refused& one) { return same(one.setting); }) ||
         std::ranges::any_of(ignored, [&](const Ignored& one) { return same(one.setting); }) ||
         std::ranges::any_of(assumed, [&](const Assumed& one) { return same(one.key); }) ||
         std::ranges::any_of(mapped, [&](const Mapped& one) { return same(one.key) || same(one.from); });
}

namespace {

// Returns true where `text` has the setting as a whole word: "model.seed" is not in "model.seed_of_data".
bool has_word(std::string_view text, std::string_view setting) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  for (std::size_t at = text.find(setting); at != text.npos; at = text.find(setting, at + 1)) {
    const std::size_t end = at + setting.size();
    const bool begins = at == 0 || !is_part(text[at - 1]), ends = end == text.size() || !is_part(text[end]);
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

void Report::drop_named_of_read() {
  std::vector<std::string> kept;
  for (std::string& setting : read) {
    const auto has = [&](const std::string& text) { return has_word(text, setting); };
    const bool named =
        std::ranges::any_of(mapped, has, &Mapped::from) || std::ranges::any_of(assumed, has, &Assumed::because) ||
        std::ranges::any_of(assumed, has, &Assumed::key) || std::ranges::any_of(ignored, has, &Ignored::setting) ||
        std::ranges::any_of(ignored, has, &Ignored::from) || std::ranges::any_of(refused, has, &Refused::setting) ||
        std::ranges::any_of(refused, has, &Refused::from) || std::ranges::any_of(refused, has, &Refused::because) ||
        std::ranges::any_of(asked, has, &Asked::because);
    if (!named && std::ranges::find(kept, setting) == kept.end()) kept.push_back(std::move(setting));
  }
  read = std::move(kept);
}

void Report::drop_assumptions(const std::string& because) {
  for (const Assumed& one : assumed)
    if (!one.value.empty()) remove(one.key);
  std::erase_if(assumed, [](const Assumed& one) { return !one.value.empty(); });
  approximate("keys that the file does not state", because);
}

void Report::drop_answered() {
  const bool named = at("model").is_string();  // the name stands for all sizes
  const auto by_user = [&](const std::string& key) {
    return std::ranges::any_of(mapped, [&](const Mapped& one) {
      return one.from == kFromCommandLine && (key + ".").starts_with(one.key + ".");
    });
  };
  std::erase_if(asked, [&](const Asked& open) {
    if (open.default_stands) return by_user(open.key);
    return has(open.key) || (named && open.key.starts_with("model."));
  });
}

bool Report::complete() const {
  return asked.empty() && std::ranges::all_of(refused, [](const Refused& one) { return one.allowed; });
}

Json Report::json() const {
  Json answer = {{"complete", complete()}, {"framework", framework}, {"scenario", scenario}};
  Json& mappings = answer["mapped"] = Json::array();
  for (const Mapped& one : mapped) mappings.push_back({{"key", one.key}, {"value", one.value}, {"from", one.from}});
  Json& assumptions = answer["assumed"] = Json::array();
  for (const Assumed& one : assumed)
    assumptions.push_back({{"key", one.key}, {"value", one.value}, {"because", one.because}});
  answer["read"] = read;
  Json& without_effect = answer["ignored"] = Json::array();
  for (const Ignored& one : ignored) without_effect.push_back({{"setting", one.setting}, {"from", one.from}});
  Json& refusals = answer["refused"] = Json::array();
  for (const Refused& one : refused)
    refusals.push_back(
        {{"setting", one.setting}, {"because", one.because}, {"from", one.from}, {"allowed", one.allowed}});
  Json& questions = answer["asked"] = Json::array();
  for (const Asked& one : asked) questions.push_back({{"key", one.key}, {"because", one.because}});
  return answer;
}

}  // namespace foretoken::io::launch

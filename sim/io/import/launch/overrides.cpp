#include "sim/io/import/launch/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/yaml/read_yaml.h"

namespace foretoken::io::launch {
namespace {

using DocumentJson = nlohmann::ordered_json;

struct KeyValue {
  std::string key, value;
};

/// Returns the override that starts at words[at], and moves `at` behind it.
std::optional<KeyValue> next_override(const std::vector<std::string>& words, std::size_t& at) {
  std::string word = words[at++];
  const bool flag = word.starts_with("--");
  word.erase(0, flag ? 2 : std::min(word.find_first_not_of('+'), word.size()));
  const std::size_t sign = word.find('=');
  if (sign != word.npos && sign > 0) return KeyValue{word.substr(0, sign), word.substr(sign + 1)};
  if (!flag || word.empty() || sign == 0) return std::nullopt;
  const bool has_value = at < words.size() && !words[at].starts_with("--");
  return KeyValue{word, has_value ? words[at++] : "true"};
}

/// Returns the place of a dotted key, made where it is missing; nullptr where it leads through a value.
DocumentJson* place_of(DocumentJson& document, std::string_view key) {
  DocumentJson* place = &document;
  for (std::string_view rest = key; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    if (part.empty() || !(place->is_object() || place->is_null())) return nullptr;
    place = &(*place)[std::string(part)];
    rest = dot == rest.npos ? std::string_view() : rest.substr(dot + 1);
  }
  return place;
}

}  // namespace

void apply_overrides(const std::vector<std::string>& words, DocumentJson& document, Findings& findings) {
  for (std::size_t at = 0; at < words.size();) {
    const std::string shown = printable(words[at], 60);
    const std::optional<KeyValue> given = next_override(words, at);
    DocumentJson* const place = given ? place_of(document, given->key) : nullptr;
    if (place == nullptr) {
      findings.complaints.push_back(
          {"behind --", "", fmt::format("expected KEY=VALUE for a key of the file, found {}", in_quotes(shown))});
      continue;
    }
    if (shell::is_unknown(given->value)) {
      *place = given->value;  // its reader asks for it
      continue;
    }
    const auto value = read_yaml("value: " + given->value, shown, findings);
    if (value) *place = value->value("value", DocumentJson());
  }
}

}  // namespace foretoken::io::launch

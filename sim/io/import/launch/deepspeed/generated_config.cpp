// Parses a DeepSpeed configuration that a script writes.
#include "sim/io/import/launch/deepspeed/generated_config.h"

#include <algorithm>
#include <string_view>

#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::deepspeed {
namespace {

// Returns the part at a place: a whole unknown part, an escaped character, or one character.
std::string part_at(const std::string& text, std::size_t at) {
  if (text[at] == '\\') return text.substr(at, 2);
  if (text[at] != shell::kUnknown) return text.substr(at, 1);
  const std::size_t end = std::min(text.find(shell::kUnknown, at + 1), text.size() - 1);
  return text.substr(at, end + 1 - at);
}

// Returns a JSON string in ASCII, with its quotes.
std::string in_json_quotes(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string escaped(const std::string& text) {
  const std::string quoted = in_json_quotes(text);
  return quoted.substr(1, quoted.size() - 2);
}

// Returns JSON in which bare values with an unknown part are strings.
std::string with_unknown_as_strings(const std::string& text) {
  constexpr std::string_view kBetweenValues = " \t\n{}[],:";
  std::string json, value;
  bool inside = false;
  const auto end_value = [&] {
    json += shell::is_unknown(value) ? in_json_quotes(value) : value;
    value.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string part = part_at(text, at);
    at += part.size();
    if (part == "\"") {
      end_value();
      inside = !inside;
      json += part;
    } else if (inside) {
      json += shell::is_unknown(part) ? escaped(part) : part;
    } else if (kBetweenValues.find(part.front()) != kBetweenValues.npos) {
      end_value();
      json += part;
    } else {
      value += part;
    }
  }
  end_value();
  return json;
}

}  // namespace

std::optional<Json> parse_generated_config(const std::string& text) {
  Findings unread;
  const auto document = parse_json(with_unknown_as_strings(text), "the DeepSpeed configuration", unread);
  return document && document->is_object() ? std::optional(as_texts(Json(*document))) : std::nullopt;
}

std::string why_no_config(const std::string& text) {
  if (shell::is_unknown(text)) return "";
  Findings wrong;
  const auto document = parse_json(text, "", wrong);
  const auto first = wrong.complaints.listed();
  if (!first.empty()) return first.front().message;
  return document && document->is_object() ? "" : "expected an object";
}

}  // namespace foretoken::io::launch::deepspeed

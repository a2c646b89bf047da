// Finds or makes the member that an override sets.
#include "sim/io/json/set_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/read_schedule.h"
#include "sim/io/json/document.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

/// Returns "--set KEY=VALUE" for a complaint. An object or an array is cut sooner than a plain value.
std::string option_text(std::string_view assignment) {
  constexpr std::size_t kLongestPlain = 60, kLongestObject = 40;
  const std::size_t equals = assignment.find('=');
  const std::string_view value = equals == assignment.npos ? "" : assignment.substr(equals + 1);
  const bool is_plain = !value.starts_with('{') && !value.starts_with('[');
  return "--set " + printable(assignment, is_plain ? kLongestPlain : kLongestObject);
}

/// Reads VALUE as JSON, or else as a string. Returns nothing, and complains, when it starts like JSON but is none.
std::optional<json> value_of(std::string_view text, Findings& findings) {
  if (auto value = parse_json(text, "", findings)) return value;
  const bool looks_like_json = !text.empty() && std::string_view("{[\"").find(text[0]) != std::string_view::npos;
  return looks_like_json ? std::nullopt : std::optional<json>(std::string(text));
}

/// Returns the member `key` of `parent`. An absent `parent` or a name becomes an object.
json* member_of(json& parent, const std::string& key, std::string_view parent_key) {
  if (parent.is_null()) parent = json::object();
  if (parent.is_string() && is_reference_key(parent_key)) parent = json{{"base", parent}};
  if (parent.is_string() && parent_key == "schedule") parent = json::object();  // a file takes the place of a name
  return parent.is_object() ? &parent[key] : nullptr;
}

/// The two sides of KEY=VALUE.
struct Stated {
  std::string key, value;
};

/// Returns both sides; nothing for a null, which states no value.
std::optional<Stated> stated_by(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) return std::nullopt;
  Stated stated{.key = assignment.substr(0, equals), .value = assignment.substr(equals + 1)};
  return stated.value == "null" ? std::nullopt : std::optional(std::move(stated));
}

std::string with_each(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

}  // namespace

void apply_set(json& target, std::string_view assignment, Findings& findings) {
  const auto refuse = [&](std::string message) {
    findings.complaints.push_back({option_text(assignment), "", std::move(message)});
  };
  const std::size_t equals = assignment.find('=');
  if (equals == assignment.npos || equals == 0) return refuse("expected KEY=VALUE, for instance parallelism.tensor=4");
  if (invalid_utf8(assignment)) return refuse("not UTF-8");
  Findings in_value;  // dropped for a plain word, which is no JSON
  std::optional<json> value = value_of(assignment.substr(equals + 1), in_value);
  if (!value) {
    const Complaint& wrong = in_value.complaints.front();
    return refuse("in the value: " +
                  (wrong.pointer.empty() ? wrong.message : fmt::format("{} {}", wrong.pointer, wrong.message)));
  }

  json* place = &target;
  std::string key;
  std::string_view rest = assignment.substr(0, equals);
  for (int depth = 0; !rest.empty() || depth == 0; ++depth) {
    const std::size_t dot = rest.find('.');
    const std::string next(rest.substr(0, dot));
    if (next.empty() || (dot != rest.npos && dot + 1 == rest.size())) return refuse("a key of the path is empty");
    if (depth == kDeepestNesting) return refuse(fmt::format("nested deeper than {} levels", kDeepestNesting));
    json* const member = member_of(*place, next, key);
    if (member == nullptr)
      return refuse(fmt::format("{} is not an object, so it has no {}", in_quotes(key), in_quotes(next)));
    place = member;
    key = next;
    rest = dot == rest.npos ? std::string_view{} : rest.substr(dot + 1);
  }
  *place = std::move(*value);
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (place->is_string() && is_reference_key(key) && is_path(place->get_ref<const std::string&>()))
    *place = text_of_path(here / path_of_text(place->get<std::string>()));
  anchor_references(*place, here);
  if (key == "schedule") anchor_schedule(*place, here);
  if (assignment.substr(0, equals) == "schedule.file") anchor_schedule(target["schedule"], here);
}

std::vector<Complaint> named_by_sets(std::vector<Complaint> complaints, const std::string& file,
                                     std::span<const std::string> sets) {
  for (const std::string& assignment : sets) {  // the last one holds
    const std::optional<Stated> stated = stated_by(assignment);
    if (!stated) continue;
    const std::string pointer = '/' + with_each(stated->key, '.', '/');
    for (Complaint& complaint : complaints) {
      if (complaint.file != file) continue;
      if (complaint.pointer == pointer) complaint.option = option_text(assignment);
      const bool inside = complaint.pointer.starts_with(pointer + '/');  // the value is an object
      if (inside) complaint.option = "--set " + printable(with_each(complaint.pointer.substr(1), '/', '.'));
    }
  }
  return complaints;
}

}  // namespace foretoken::io

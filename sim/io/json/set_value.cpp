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

constexpr std::size_t kLongestSet = 40;  // of an override in a complaint

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

/// Returns the JSON pointer of the value that KEY=VALUE states; nothing for a null, which states none.
std::optional<std::string> pointer_of(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || assignment.substr(equals) == "=null") return std::nullopt;
  std::string pointer = '/' + assignment.substr(0, equals);
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return pointer;
}

}  // namespace

void apply_set(json& target, std::string_view assignment, Findings& findings) {
  const auto refuse = [&](std::string message) {
    findings.complaints.push_back({"--set " + printable(assignment, kLongestSet), "", std::move(message)});
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
    const std::optional<std::string> stated = pointer_of(assignment);
    if (!stated) continue;
    const std::string option = "--set " + printable(assignment, kLongestSet);
    const std::string object = "--set " + printable(assignment.substr(0, stated->size()), kLongestSet) +
                               (assignment.find('[') == stated->size() ? "[...]" : "{...}");
    for (Complaint& complaint : complaints) {
      if (complaint.file != file) continue;
      if (complaint.pointer == *stated) complaint.option = option;
      const bool inside = complaint.pointer.starts_with(*stated + '/');  // the value is an object
      if (inside) complaint.option = object + ": " + printable(complaint.pointer.substr(stated->size()));
    }
  }
  return complaints;
}

}  // namespace foretoken::io

// Replaces references to files by their contents, from the outermost inwards.
#include "sim/io/scenario/inline_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "sim/io/import/read_schedule.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

constexpr std::array kFileKinds{
    std::pair<std::string_view, const DataKind*>{"model", &kModels},
    std::pair<std::string_view, const DataKind*>{"cluster", &kClusters},
    std::pair<std::string_view, const DataKind*>{"gpu", &kGpus},
    std::pair<std::string_view, const DataKind*>{"profile", &kProfiles},
    std::pair<std::string_view, const DataKind*>{"runtime", &kRuntimes},
    std::pair<std::string_view, const DataKind*>{"measured_collectives", &kMeasuredCollectives}};

bool refers_to_file(const nlohmann::json& member) {
  if (member.is_string()) return is_path(member.get_ref<const std::string&>());
  if (!member.is_object()) return false;
  const auto base = member.find("base");
  return base != member.end() && base->is_string() && is_path(base->get_ref<const std::string&>());
}

// Replaces one reference, and returns the folder in which those of its contents start.
std::filesystem::path open_here(nlohmann::json& member, const DataKind& kind, const std::filesystem::path& folder) {
  const Source source{.file = "a scenario", .folder = folder};
  Findings findings;
  std::optional<Document> document = open_reference(Node(member, source, findings), kind);
  if (!document || !findings.complaints.empty()) return folder;
  std::filesystem::path inside = document->source.folder;
  const bool is_model = kind.folder == kModels.folder;
  if (is_model && document->value.is_object() && !document->value.contains("name") && !document->name.empty())
    document->value["name"] = document->name;
  member = std::move(document->value);
  return inside;
}

}  // namespace

void inline_files(nlohmann::json& scenario, const std::filesystem::path& folder) {
  if (scenario.is_array())
    for (nlohmann::json& each : scenario) inline_files(each, folder);
  if (!scenario.is_object()) return;
  for (const auto& [key, kind] : kFileKinds) {
    const auto member = scenario.find(key);
    if (member == scenario.end()) continue;
    const std::filesystem::path inside = refers_to_file(*member) ? open_here(*member, *kind, folder) : folder;
    inline_files(*member, inside);
  }
  if (const auto schedule = scenario.find("schedule"); schedule != scenario.end()) inline_schedule(*schedule, folder);
  if (const auto groups = scenario.find("groups"); groups != scenario.end()) inline_files(*groups, folder);
}

}  // namespace foretoken::io

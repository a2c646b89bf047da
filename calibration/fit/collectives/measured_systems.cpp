// Sorts tables by system, and fits the curves of each system.
#include "calibration/fit/collectives/measured_systems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "calibration/fit/collectives/measured_machine.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace foretoken::fit {
namespace {

/// Returns the tables' sources, each once.
std::string sources(const std::vector<CollectiveTable>& tables) {
  std::vector<std::string> all;
  for (const CollectiveTable& table : tables)
    if (std::find(all.begin(), all.end(), table.source) == all.end()) all.push_back(table.source);
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace

std::string architecture_of(const std::string& gpu) {
  constexpr std::pair<const char*, const char*> kArchitectures[] = {
      {"v100", "volta"},      {"a100", "ampere"},    {"h100", "hopper"},      {"h200", "hopper"},
      {"b200", "blackwell"},  {"b300", "blackwell"}, {"gb200", "blackwell"},  {"l40s", "ada"},
      {"gb300", "blackwell"}, {"mi300x", "cdna3"},   {"rtx-pro", "blackwell"}};
  for (const auto& [prefix, architecture] : kArchitectures)
    if (gpu.starts_with(prefix)) return architecture;
  std::vector<std::string> known;
  for (const auto& [prefix, architecture] : kArchitectures) known.emplace_back(prefix);
  throw ConfigError({{"tables of collectives", "",
                      fmt::format("expected a GPU whose name begins with one of {}, found {}", fmt::join(known, ", "),
                                  in_quotes(gpu))}});
}

bool over_pcie(const CollectiveTable& table) { return table.network.starts_with("PCIe"); }

double link_gb_per_s(const CollectiveTable& table) {
  if (over_pcie(table)) return table.gpu.starts_with("rtx") ? 64 : 32;  // PCIe 5 and 4, 16 lanes
  const std::string architecture = architecture_of(table.gpu);
  if (architecture == "volta") return 150;  // NVLink per direction, datasheets
  if (architecture == "ampere") return 300;
  return architecture == "blackwell" ? 900 : 450;  // MI300X: 448 over Infinity Fabric
}

const cost::Profile& general_profile(const std::string& architecture, const GeneralLaws& general) {
  const auto own = general.find(architecture);
  return own == general.end() ? general.at("") : own->second;
}

std::vector<cost::MeasuredCollectives> measured_systems(const std::vector<CollectiveTable>& tables,
                                                        const GeneralLaws& general) {
  std::map<std::string, std::vector<CollectiveTable>> by_system;
  for (const CollectiveTable& table : tables) by_system[table.system].push_back(table);
  std::vector<cost::MeasuredCollectives> systems;
  for (const auto& [name, own] : by_system) {
    const std::string architecture = architecture_of(own.front().gpu);
    systems.push_back(measure({.name = name,
                               .architecture = architecture,
                               .source = sources(own),
                               .tables = own,
                               .over_pcie = over_pcie(own.front()),
                               .link_gb_per_s = link_gb_per_s(own.front())},
                              general_profile(architecture, general)));
  }
  return systems;
}

}  // namespace foretoken::fit

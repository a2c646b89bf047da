// Which table is of which system, and the file of each.
#include "calibration/fit/collectives/measured_systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "calibration/fit/collectives/measured_machine.h"

namespace foretoken::fit {
namespace {

/// The tables' sources, each once.
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
  throw std::runtime_error(fmt::format("unknown GPU \"{}\" in a measured table", gpu));
}

bool over_pcie(const CollectiveTable& table) { return table.network.starts_with("PCIe"); }

double link_gb_per_s(const CollectiveTable& table) {
  if (over_pcie(table)) return table.gpu.starts_with("rtx") ? 64 : 32;  // PCIe 5 and 4, 16 lanes
  const std::string architecture = architecture_of(table.gpu);
  if (architecture == "volta") return 150;  // NVLink per direction, datasheets
  if (architecture == "ampere") return 300;
  return architecture == "blackwell" ? 900 : 450;  // MI300X: 448 over Infinity Fabric
}

cost::Profile general_profile(const std::string& architecture, const Collectives& c) {
  cost::Profile profile{.nvlink = c.hopper, .pcie = c.pcie, .network = c.hopper_network};
  if (architecture == "volta") profile.nvlink = c.volta, profile.network = c.volta_network;
  if (architecture == "ampere") profile.nvlink = c.ampere, profile.network = c.ampere_network;
  if (architecture == "blackwell") profile.nvlink = c.blackwell, profile.network = c.blackwell_network;
  profile.point_to_point = published_messages(architecture == "ampere" || architecture == "volta" ? 0.8 : 0.72);
  return profile;
}

std::vector<cost::MeasuredCollectives> measured_systems(const std::vector<CollectiveTable>& tables,
                                                        const Collectives& general) {
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

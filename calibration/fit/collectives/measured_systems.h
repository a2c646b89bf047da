// Groups measured tables by system and fits the curves of each: the content of calibration/collectives/NAME.json.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/collectives/general_laws.h"
#include "sim/cost/collectives/measured_collectives.h"

namespace foretoken::fit {

/// Fits a curve to each table, and returns the curves by system, sorted by name. Numbers that a system's tables do not
/// show come from the laws of its architecture in `general`.
/// Precondition: no two tables of one system have the same kind and shape of group.
[[nodiscard]] std::vector<cost::MeasuredCollectives> measured_systems(const std::vector<CollectiveTable>& tables,
                                                                      const GeneralLaws& general);

/// Returns the collective laws of an architecture, as a profile whose other parts are empty. GPUs without laws of their
/// own (Ada, CDNA) take Hopper's laws.
[[nodiscard]] const cost::Profile& general_profile(const std::string& architecture, const GeneralLaws& general);

/// Returns the architecture of a GPU: "ampere" for "a100-sxm4-80gb". Knows every GPU in the measured tables, and throws
/// ConfigError for any other.
[[nodiscard]] std::string architecture_of(const std::string& gpu);

/// Returns the rate of the links that the table's ranks have inside a node, GB/s.
[[nodiscard]] double link_gb_per_s(const CollectiveTable& table);

/// Returns true when the table's ranks talk over PCIe inside a node.
[[nodiscard]] bool over_pcie(const CollectiveTable& table);

}  // namespace foretoken::fit

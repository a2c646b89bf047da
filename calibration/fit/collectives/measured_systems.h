// Groups the measured tables by system: calibration/collectives/NAME.json.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/collectives/general_laws.h"
#include "sim/cost/collectives/measured_collectives.h"

namespace foretoken::fit {

/// A curve for every table of `tables`, gathered by the system that the table names; sorted by name. What a system's
/// tables do not show is its architecture's in `general`.
/// Precondition: no two tables of one system have the same kind and shape of group.
[[nodiscard]] std::vector<cost::MeasuredCollectives> measured_systems(const std::vector<CollectiveTable>& tables,
                                                                      const GeneralLaws& general);

/// The laws of an architecture, as a profile whose other parts are empty. GPUs without laws of their own (Ada, CDNA)
/// stand on Hopper's.
[[nodiscard]] const cost::Profile& general_profile(const std::string& architecture, const GeneralLaws& general);

/// "ampere" of "a100-sxm4-80gb", for every GPU in the measured tables. Throws ConfigError for an unknown one.
[[nodiscard]] std::string architecture_of(const std::string& gpu);

/// Returns the rate of the links that the table's ranks have inside a node, GB/s.
[[nodiscard]] double link_gb_per_s(const CollectiveTable& table);

/// Returns true when the table's ranks talk over PCIe inside a node.
[[nodiscard]] bool over_pcie(const CollectiveTable& table);

}  // namespace foretoken::fit

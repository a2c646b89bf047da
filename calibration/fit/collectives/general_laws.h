// The collective laws of each architecture, as the recipes of the shipped profiles fit them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// By architecture ("ampere"): NVLink, PCIe, network and messages of the profile that was fitted on its tables.
/// Architectures without one take Hopper's, under "".
using GeneralLaws = std::map<std::string, cost::Profile>;

[[nodiscard]] GeneralLaws fit_general_laws(const std::vector<CollectiveTable>& tables);

}  // namespace foretoken::fit

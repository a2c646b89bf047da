// Fits the collective laws of each architecture, by the recipes of the shipped profiles.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// The laws by architecture, such as "ampere". A profile holds its laws of NVLink, PCIe, network and messages.
/// Architectures without laws of their own take Hopper's laws, which stand under "".
using GeneralLaws = std::map<std::string, cost::Profile>;

[[nodiscard]] GeneralLaws fit_general_laws(const std::vector<CollectiveTable>& tables);

}  // namespace foretoken::fit

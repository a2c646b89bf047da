// Collective laws of each architecture and which tables they are fitted on.
#pragma once

#include <vector>

#include "calibration/fit/recipes/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

struct Collectives {
  cost::InsideNodeLaw ampere, hopper, blackwell, volta, pcie;
  cost::AcrossNodesLaw ampere_network, hopper_network, blackwell_network, volta_network;
};

[[nodiscard]] Collectives fit_collectives(const std::vector<CollectiveTable>& tables);

/// Messages between two GPUs: A100's part of the NVLink rate, and a part of the NIC's rate that is stated.
[[nodiscard]] cost::PointToPointLaw published_messages(double network_efficiency);

/// The law of GPUs whose links have another rate, in GB/s.
[[nodiscard]] cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const cost::Evidence& evidence);

}  // namespace foretoken::fit

// Collective laws of each architecture and which tables they are fitted on.
#pragma once

#include "calibration/fit/build_profiles.h"

namespace foretoken::fit {

struct Collectives {
  cost::InsideNodeLaw ampere, hopper, blackwell, volta, pcie;
  cost::AcrossNodesLaw ampere_network, hopper_network, blackwell_network, volta_network;
};

[[nodiscard]] Collectives fit_collectives(const Measurements& data);

/// The law of GPUs whose links have another rate, in GB/s.
[[nodiscard]] cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const std::string& source);

}  // namespace foretoken::fit

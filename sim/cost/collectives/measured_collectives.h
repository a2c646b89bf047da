// Collectives measured on one system (calibration/collectives/NAME.json). They replace a profile's general laws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// Measurements of one kind of machine with one network and one NCCL. A law that was not measured is absent.
struct MeasuredCollectives {
  std::string name{};          ///< "aws-p5"
  std::string architecture{};  ///< architecture of its GPUs, as topologies/gpus states it
  std::string source{};
  std::optional<InsideNodeLaw> nvlink{}, pcie{};
  std::optional<AcrossNodesLaw> network{};
  std::optional<PointToPointLaw::Path> nvlink_message{}, network_message{};
};

/// Returns the profile with every curve of `measured` in the place of its own curve of the same kind (and group size),
/// unless that curve is measured: a user's own machine says more than one of the same kind.
/// Rates inside a node are scaled to the profile's reference link.
[[nodiscard]] Profile with_measured(Profile profile, const MeasuredCollectives& measured);

}  // namespace foretoken::cost

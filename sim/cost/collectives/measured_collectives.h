// Collectives measured on one system (calibration/collectives/NAME.json), to stand in for a profile's general laws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace foretoken::cost {

/// What was measured on one kind of machine with one network and one NCCL; laws hold only what was measured.
struct MeasuredCollectives {
  std::string name{};          ///< "aws-p5"
  std::string architecture{};  ///< of its GPUs, as topologies/gpus states it
  std::string source{};
  std::optional<InsideNodeLaw> nvlink{}, pcie{};
  std::optional<AcrossNodesLaw> network{};
  std::optional<PointToPointLaw::Path> nvlink_message{}, network_message{};
};

/// The profile with every curve of `measured` in the place of its own curve of the same kind (and group size); rates
/// inside a node are scaled to the profile's reference link.
[[nodiscard]] Profile with_measured(Profile profile, const MeasuredCollectives& measured);

}  // namespace foretoken::cost

// Turns the tables of one machine into curves that follow them.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "sim/cost/collectives/measured_collectives.h"

namespace foretoken::fit {

/// Tables of one kind of machine with one network and one NCCL: no two of one kind and shape of group.
struct Machine {
  std::string name, architecture, source;
  std::vector<CollectiveTable> tables;
  bool over_pcie = false;    ///< true when GPUs talk over PCIe inside a node
  double link_gb_per_s = 0;  ///< rate of one GPU inside a node, in one direction
};

/// Fits a curve for every table. Tables may not show some numbers: latency without small messages, growth with the
/// nodes, the rate inside a node. These come from `general`, the laws of the GPU's architecture.
[[nodiscard]] cost::MeasuredCollectives measure(const Machine& machine, const cost::Profile& general);

}  // namespace foretoken::fit

// The tables of one machine become curves that follow them.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/recipes/published.h"
#include "sim/cost/collectives/measured_collectives.h"

namespace foretoken::fit {

/// Tables of one kind of machine with one network and one NCCL: no two of one kind and shape of group.
struct Machine {
  std::string name, architecture, source;
  std::vector<CollectiveTable> tables;
  bool over_pcie = false;    ///< inside a node
  double link_gb_per_s = 0;  ///< of one GPU inside a node, in one direction
};

/// A curve for every table. What the tables do not show (latency without small messages, growth with the nodes, the
/// rate inside a node) is that of `general`, the laws of the GPU's architecture.
[[nodiscard]] cost::MeasuredCollectives measure(const Machine& machine, const cost::Profile& general);

}  // namespace foretoken::fit

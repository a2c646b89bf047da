// The ranks of a group on their nodes, and the links between them. A cost model knows nothing else of a cluster.
#pragma once

#include "sim/base/units.h"

namespace foretoken {

/// The ranks of one group (tensor parallel, data parallel, ...) and how they spread over nodes.
struct GroupShape {
  int ranks = 1;
  int nodes = 1;            ///< NVLink domains that the group touches
  int ranks_per_node = 1;   ///< ranks of the group in each domain; the fewest where they differ
  int groups_per_node = 1;  ///< groups of this kind that use the NICs of one node at the same time

  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

/// Links of one kind of node. All rates are per direction.
struct NodeLinks {
  BytesPerSecond nvlink_per_gpu;  ///< 0 when GPUs talk over PCIe
  BytesPerSecond pcie_per_gpu;
  BytesPerSecond nic;           ///< one NIC
  int nics = 1;                 ///< NICs of one node (NVLink domain)
  int gpus = 8;                 ///< GPUs of one node (NVLink domain)
  double oversubscription = 1;  ///< of the fabric above the nodes; 1 is full bisection
  int groups_on_pcie = 1;       ///< groups that share the fullest link of the PCIe tree
  bool shares_pcie = true;      ///< false: nobody counts them, each group has the links for itself
  Seconds hop_latency;          ///< one switch hop

  /// Returns the rate over PCIe of one of the groups that communicate at once.
  [[nodiscard]] constexpr BytesPerSecond pcie_share() const {
    return pcie_per_gpu / static_cast<double>(groups_on_pcie);
  }
  [[nodiscard]] constexpr BytesPerSecond nics_total() const { return nic * static_cast<double>(nics); }
  /// Returns the links of one group while no other communicates.
  [[nodiscard]] constexpr NodeLinks unshared() const {
    NodeLinks alone = *this;
    alone.oversubscription = 1;
    alone.groups_on_pcie = 1;
    alone.shares_pcie = false;
    return alone;
  }
};

}  // namespace foretoken

// The wiring of one node: NVLink cables between its GPUs, and the PCIe tree of its GPUs and NICs.
#pragma once

#include <vector>

namespace foretoken::net {

/// NVLink cables straight from one GPU of a node to another.
struct NvlinkCables {
  int a = 0, b = 0;
  int count = 1;
  friend bool operator==(const NvlinkCables&, const NvlinkCables&) = default;
};

/// A socket (NUMA node) or a PCIe switch: the devices plugged into it, and the switches below it.
struct PcieTree {
  std::vector<int> gpus, nics;  ///< by their number in the node
  std::vector<PcieTree> switches;
  friend bool operator==(const PcieTree&, const PcieTree&) = default;
};

/// A node's wiring as it was found, where that is known. Otherwise the cluster's kind of NVLink and its numbers define
/// it.
struct NodeWiring {
  std::vector<NvlinkCables> cables;  ///< empty: the usual cables of the kind of NVLink
  std::vector<PcieTree> sockets;     ///< empty: NICs and GPUs spread evenly over PCIe switches on one root
};

/// Returns the PCIe trees of a host, one a socket: those of its wiring, else min(NICs, GPUs) switches on one root, each
/// with its share of the GPUs and NICs.
[[nodiscard]] std::vector<PcieTree> pcie_trees(const NodeWiring& wiring, int gpus, int nics);

/// Counts the groups of GPUs that share the fullest link between switches or sockets. A ring of a group enters and
/// leaves a switch once, and goes over its sockets in order. 1: every group has its links for itself.
[[nodiscard]] int groups_on_fullest_link(const std::vector<PcieTree>& trees,
                                         const std::vector<std::vector<int>>& groups);

/// Returns, by GPU, the NICs with the fewest PCIe hops to it, in order. Every GPU from 0 to gpus - 1 stands in
/// `sockets` once.
[[nodiscard]] std::vector<std::vector<int>> nearest_nics(const std::vector<PcieTree>& sockets, int gpus);

}  // namespace foretoken::net

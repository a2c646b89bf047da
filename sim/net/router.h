// Routes between GPUs: through NVLink or PCIe inside a node, and over NICs and switches between nodes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/net/fabric.h"

namespace foretoken::net {

/// A way from one GPU to another: link ids of the fabric, in order.
struct Route {
  std::vector<std::uint32_t> links;
  Seconds latency;  ///< of the network switches passed; zero inside a node
};

/// Finds routes. Inside a node the path with the least sum of 1 / capacity; between switches a shortest path, one of
/// several equal ones by a hash of the endpoints and `flow` (ECMP). Not thread-safe: routes inside nodes and the
/// distances to switches are kept.
class Router {
 public:
  explicit Router(const Fabric& fabric);

  /// GPU `from` to GPU `to` (global numbers, node-major). Between nodes the flow leaves through NIC `nic` of its node
  /// and arrives at NIC `nic` of the other (a rail).
  /// Precondition: from != to; a path exists; nic is one of the node's when nodes differ.
  [[nodiscard]] Route route(int from, int to, int nic, std::uint64_t flow = 0);

  /// The NIC nearest to a GPU of a node, the lowest of several; `which` counts through them.
  [[nodiscard]] int nearest_nic(int gpu, int which = 0) const;
  [[nodiscard]] int nics_near(int gpu) const { return static_cast<int>(near_[static_cast<std::size_t>(gpu)].size()); }
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }

 private:
  const std::vector<std::uint32_t>& inside(DeviceId from, DeviceId to);
  const std::vector<std::uint32_t>& distances_to(DeviceId leaf);

  const Fabric& fabric_;
  std::map<std::pair<DeviceId, DeviceId>, std::vector<std::uint32_t>> inside_;  // links of a path in any node
  std::map<DeviceId, std::vector<std::uint32_t>> distances_;                    // hops from every switch to this one
  std::vector<std::vector<int>> near_;                                          // by GPU of a node: its NICs
};

}  // namespace foretoken::net

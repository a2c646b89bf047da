// Routes between GPUs: over NVLink or PCIe inside a node, and over NICs and switches between nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/net/fabric.h"

namespace foretoken::net {

/// A way from one GPU to another: link ids of the fabric, in order.
struct Route {
  std::vector<std::uint32_t> links;
  Seconds latency;  ///< latency of the network switches on the way; zero inside a node
};

/// Finds routes. Inside a node it takes the path with the least sum of 1 / capacity. Between switches it takes a
/// shortest path; a hash of the endpoints and `flow` chooses among equal ones (ECMP).
///
/// Routes avoid failed links. A GPU may not reach its NICs, or its NICs may not reach the network. It then uses the
/// next NIC of its node that it can use, and traffic to this GPU arrives there. GPUs that nothing joins inside their
/// node any more meet over the network.
///
/// Not thread-safe: it stores routes inside nodes and the distances to switches.
class Router {
 public:
  /// `failed` is by link id of the fabric, the same for both directions of a cable. Empty: all links work.
  explicit Router(const Fabric& fabric, std::vector<bool> failed = {});
  Router(const Router&) = delete;  // it points into its own tables
  Router& operator=(const Router&) = delete;

  /// Returns the route from GPU `from` to GPU `to`. Between nodes the flow leaves through
  /// NIC `nic` of its node and arrives at NIC `nic` of the other (a rail). Returns std::nullopt where failures leave no
  /// way. Precondition: from != to; `nic` is one of the node's NICs when the nodes differ.
  [[nodiscard]] std::optional<Route> route(FabricGpu from, FabricGpu to, int nic, std::uint64_t flow = 0);

  /// Returns the way from GPU `gpu` through NIC `nic` of its node into the network (`out`), or back. A
  /// flow to or from another cluster takes this way. Precondition: the GPU can use this NIC.
  [[nodiscard]] Route exit(FabricGpu gpu, int nic, bool out);

  /// Returns the nearest NICs that a GPU can use, in order. It is empty when the GPU can use none.
  [[nodiscard]] const std::vector<int>& nics_near(FabricGpu gpu) const;
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }

 private:
  // The NICs of a GPU on a node where something has failed.
  struct Exits {
    std::vector<bool> usable;  // by NIC: both the way to it and its cable work
    std::vector<int> near;     // the nearest of the usable ones
  };
  // Nodes in which the same links have failed. They share their ways.
  using Damage = Id<struct DamageTag>;
  // Hops to one switch.
  struct Distances {
    const std::vector<std::uint32_t>& from_beside;  // by switch: hops to the nearest switch beside the target
    DeviceId target;
    [[nodiscard]] std::uint32_t from(DeviceId at) const;
  };
  [[nodiscard]] bool works(std::uint32_t link) const { return failed_.empty() || !failed_[link]; }
  [[nodiscard]] std::vector<bool> failures_in(FabricNode node) const;
  [[nodiscard]] Exits exits_of(FabricGpu gpu) const;
  [[nodiscard]] const Exits* damaged_exits(FabricGpu gpu) const;  // nullptr: nothing has failed in its node
  [[nodiscard]] bool can_use(FabricGpu gpu, int nic) const;
  void add_inside(FabricNode node, DeviceId from, DeviceId to, Route& route);
  void add_link(std::uint32_t link, Route& route);
  /// Returns the NICs to leave and to arrive by: `nic` on both nodes, or the next connected ones that these GPUs can
  /// use.
  [[nodiscard]] std::optional<std::pair<int, int>> find_nics(FabricGpu from, FabricGpu to, int nic);
  /// Returns the links of a path in a node. It is empty when there is no path.
  const std::vector<std::uint32_t>& inside(FabricNode node, DeviceId from, DeviceId to);
  Distances distances_to(DeviceId leaf);
  void add_network(FabricGpu from, FabricGpu to, DeviceId at, DeviceId target, std::uint64_t flow, Route& route);

  const Fabric& fabric_;
  std::vector<bool> failed_;
  std::vector<std::vector<int>> near_;         // by GPU of a node: its NICs
  std::vector<std::optional<Damage>> damage_;  // by node; none: whole. Empty: all nodes are
  std::vector<std::vector<Exits>> exits_;      // by damage and GPU of a node
  std::map<std::tuple<std::optional<Damage>, DeviceId, DeviceId>, std::vector<std::uint32_t>> inside_;
  // Switches with the same switches beside them are equally far from all others. A rail has thousands of such leaves.
  std::map<std::vector<DeviceId>, std::vector<std::uint32_t>> distances_;    // by the switches beside: Distances
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> only_path_;  // by two switches that no other path joins
  std::vector<const std::vector<std::uint32_t>*> distances_to_;              // by switch, once asked for
};

/// Returns the GPUs beside a link of the fabric: the GPUs at its ends, and the GPUs nearest to a NIC
/// at an end. It is empty for links that join only switches and hosts.
[[nodiscard]] std::vector<FabricGpu> gpus_beside(const Router& router, std::uint32_t link);

}  // namespace foretoken::net

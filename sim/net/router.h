// Routes between GPUs: through NVLink or PCIe inside a node, and over NICs and switches between nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
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
/// several equal ones by a hash of the endpoints and `flow` (ECMP). Links that failed are passed by: a GPU that cannot
/// reach its NICs, or whose NICs cannot reach the network, takes the next one of its node that it can use, and so does
/// what would arrive there; GPUs that nothing inside their node joins any more meet over the network. Not thread-safe:
/// routes inside nodes and the distances to switches are kept.
class Router {
 public:
  /// `failed`: by link id of the fabric, both directions of a cable alike; empty: all work.
  explicit Router(const Fabric& fabric, std::vector<bool> failed = {});

  /// GPU `from` to GPU `to` (global numbers, node-major). Between nodes the flow leaves through NIC `nic` of its node
  /// and arrives at NIC `nic` of the other (a rail). std::nullopt where failures leave no way.
  /// Precondition: from != to; nic is one of the node's when nodes differ.
  [[nodiscard]] std::optional<Route> route(int from, int to, int nic, std::uint64_t flow = 0);

  /// From GPU `gpu` (global number) through NIC `nic` of its node into the network (`out`), or from there to the GPU:
  /// what a flow to or from another cluster takes here. Precondition: it can use this NIC.
  [[nodiscard]] Route exit(int gpu, int nic, bool out);

  /// The NICs nearest to a GPU (global number) of those that it can use, in order; empty: it can use none.
  [[nodiscard]] const std::vector<int>& nics_near(int gpu) const;
  [[nodiscard]] const Fabric& fabric() const { return fabric_; }

 private:
  // Of a GPU on a node where something has failed.
  struct Exits {
    std::vector<bool> usable;  // by NIC: both the way to it and its cable work
    std::vector<int> near;     // the nearest of these
  };
  [[nodiscard]] bool works(std::uint32_t link) const { return failed_.empty() || !failed_[link]; }
  [[nodiscard]] bool is_whole(int node) const;
  [[nodiscard]] Exits exits_of(int gpu) const;
  [[nodiscard]] bool can_use(int gpu, int nic) const;
  void add_inside(int node, DeviceId from, DeviceId to, Route& route);
  void add_link(std::uint32_t link, Route& route);
  /// NICs to leave and to arrive by: `nic` both, or the next ones that these GPUs can use and that are connected.
  [[nodiscard]] std::optional<std::pair<int, int>> find_nics(int from, int to, int nic);
  /// Links of a path in a node; empty: there is none.
  const std::vector<std::uint32_t>& inside(int node, DeviceId from, DeviceId to);
  const std::vector<std::uint32_t>& distances_to(DeviceId leaf);
  void add_network(int from, int to, DeviceId at, DeviceId target, std::uint64_t flow, Route& route);

  const Fabric& fabric_;
  std::vector<bool> failed_;
  // Links of a path in a node; -1 stands for every node in which nothing failed.
  std::map<std::tuple<int, DeviceId, DeviceId>, std::vector<std::uint32_t>> inside_;
  std::map<DeviceId, std::vector<std::uint32_t>> distances_;  // hops from every switch to this one
  std::vector<std::vector<int>> near_;                        // by GPU of a node: its NICs
  std::map<int, Exits> exits_;                                // by GPU (global number), where they are not near_
};

/// GPUs (global numbers) beside a link of the fabric: those at its ends, and those nearest to a NIC at one of them;
/// none beside links that join only switches and hosts.
[[nodiscard]] std::vector<int> gpus_beside(const Router& router, std::uint32_t link);

}  // namespace foretoken::net

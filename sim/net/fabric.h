// The cluster as a graph: GPUs, NVLink switches, PCIe switches, NICs and network switches, and the links between them.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/net/cluster.h"

namespace foretoken::net {

enum class DeviceKind : std::uint8_t { kGpu, kNvSwitch, kHost, kPcieSwitch, kNic, kLeaf, kSpine, kCore, kRouter };

/// One box of the graph.
struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  int node = -1;  ///< the NVLink domain it stands in; -1 for a network switch
  int index = 0;  ///< within its node, or among the switches of its kind
};

enum class LinkKind : std::uint8_t { kNvlink, kPcie, kNetwork };

/// One direction of a cable. `id` numbers all links of a fabric from 0.
struct Link {
  std::uint32_t id = 0;
  LinkKind kind = LinkKind::kNvlink;
  BytesPerSecond capacity;
  Seconds latency;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Device, Link>;
using DeviceId = Graph::vertex_descriptor;

/// Calls f(edge) for every edge, vertex by vertex.
template <class F>
void for_each_edge(const Graph& graph, F&& f) {
  for (DeviceId v = 0; v < boost::num_vertices(graph); ++v)
    for (auto [edge, end] = boost::out_edges(v, graph); edge != end; ++edge) f(*edge);
}

/// One node (an NVLink domain) as a graph of its own, and how many of each device it has.
struct NodeGraph {
  Graph graph;  ///< GPUs first, then NICs, then the rest
  int gpus = 0, nics = 0;
  std::uint32_t links = 0;
  [[nodiscard]] DeviceId gpu(int index) const { return static_cast<DeviceId>(index); }
  [[nodiscard]] DeviceId nic(int index) const { return static_cast<DeviceId>(gpus + index); }
};

/// Fills an empty `node` with the node of a cluster. (Boost's graphs only copy, never move: they are filled in place.)
///
/// NVLink: a switch that every GPU reaches at its full rate, the hybrid cube mesh of DGX-1 (NVIDIA, "NVIDIA DGX-1 With
/// Tesla V100 System Architecture", WP-08437, figure 4), bridged pairs, or none; or the cables that the cluster states.
/// PCIe: a switch for every min(NICs, GPUs) share of the node with its GPUs and NICs; all switches of a host hang on
/// one root. Or the tree that the cluster states; its sockets are joined pair by pair with the rate of a PCIe link,
/// which no source of such a tree tells (assumed: what a x16 slot carries, a link between sockets carries too).
/// Precondition: without cables stated, "hybrid-cube-mesh" has 8 GPUs.
void build_node(const Cluster& cluster, NodeGraph& node);

/// Ports and layers of the network of a job's nodes.
struct NetworkShape {
  int nodes = 1, nics = 0;
  int leaves = 0, spines = 0, cores = 0, routers = 0;
};

/// A cluster's first `nodes` nodes with the part of its network that they use.
///
/// Fat tree: leaf switches whose ports go down and up in the ratio of the oversubscription; a rail-optimised one gives
/// each NIC number its own leaves, another gives all NICs of a node the same leaf. More leaves than a spine has ports:
/// pods of radix / 2 leaves under core switches. With adaptive routing all spines of a pod are one device whose links
/// carry what the cables carry together. Dragonfly: groups of radix / 2 routers, radix / 4 NICs a router, all-to-all in
/// the group and between groups (Kim et al., ISCA 2008, balanced: a = 2p = 2h).
class Fabric {
 public:
  /// `joined`: to the network of another cluster, so that a single node has one, too.
  Fabric(const Cluster& cluster, int nodes, bool joined = false);

  [[nodiscard]] int nodes() const { return shape_.nodes; }
  [[nodiscard]] const NodeGraph& node() const { return node_; }
  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  /// Whether NICs are plugged in: a node by itself needs none.
  [[nodiscard]] bool has_network() const { return !switch_of_nic_.empty(); }
  /// The network alone: switches, numbered from 0.
  [[nodiscard]] const Graph& switches() const { return switches_; }
  /// The switch that a NIC is plugged into.
  [[nodiscard]] DeviceId switch_of(int node, int nic) const;
  /// Links of the whole fabric by id: those of every node, one node after another, then of every NIC (out, in), then
  /// of the network.
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] std::uint32_t node_link(int node, std::uint32_t link) const {
    return static_cast<std::uint32_t>(node) * node_.links + link;
  }
  [[nodiscard]] std::uint32_t nic_link(int node, int nic, bool out) const;
  /// First id of the links of the network; the id of `switches()`'s link l is this plus l.
  [[nodiscard]] std::uint32_t network_begin() const { return network_begin_; }
  /// Adds everything to an empty graph, for drawing and for checks.
  void copy_whole(Graph& all) const;

 private:
  void build_fat_tree(const Cluster& cluster);
  void build_dragonfly(const Cluster& cluster);
  DeviceId add_switch(DeviceKind kind, int index);
  void connect(DeviceId a, DeviceId b, double cables, const Cluster& cluster);

  NodeGraph node_;
  NetworkShape shape_;
  Graph switches_;
  std::vector<DeviceId> switch_of_nic_;  // by node x NIC
  std::vector<Link> links_;
  std::uint32_t network_begin_ = 0;
};

/// By link id: whether a link can ever be full before others of every flow over it are. A link up a fat tree that
/// carries no less than all links into its switch from below cannot, nor one down that carries no less than all links
/// below its end, nor the PCIe link of a NIC that is slower. Leaving such links out of routes changes no rate.
/// `capacity`: by link id.
[[nodiscard]] std::vector<bool> possible_bottlenecks(const Fabric& fabric, const std::vector<double>& capacity);

/// Ids of the links between two devices in both directions, by their names; empty when no cable joins them.
[[nodiscard]] std::vector<std::uint32_t> links_between(const Fabric& fabric, std::string_view a, std::string_view b);

/// "node 4 nic 2 to leaf 1", ...: what the links of the fabric join, in the order of `ids`.
[[nodiscard]] std::vector<std::string> link_names(const Fabric& fabric, std::span<const std::uint32_t> ids);

/// "gpu 3", "spine 0", ... as drawings and messages name a device.
[[nodiscard]] std::string name_of(const Device& device);

}  // namespace foretoken::net

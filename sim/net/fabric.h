// The cluster as a graph: GPUs, switches and NICs, and the links between them.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/net/cluster.h"
#include "sim/net/fabric_ids.h"

namespace foretoken::net {

enum class DeviceKind : std::uint8_t {
  kGpu,
  kNvSwitch,
  kHost,
  kPcieSwitch,
  kNic,
  kLeaf,
  kSpine,
  kCore,
  kRouter,
  kGroup,
  kGlobal
};

/// One device of the graph.
struct Device {
  DeviceKind kind = DeviceKind::kGpu;
  std::optional<FabricNode> node = std::nullopt;  ///< the NVLink domain it stands in; none for a network switch
  int index = 0;                                  ///< within its node, or among the switches of its kind
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

/// One node (an NVLink domain) as a graph, with the number of its devices.
struct NodeGraph {
  Graph graph;  ///< GPUs first, then NICs, then the rest
  int gpus = 0, nics = 0;
  std::uint32_t links = 0;
  [[nodiscard]] DeviceId gpu(int index) const { return static_cast<DeviceId>(index); }
  [[nodiscard]] DeviceId nic(int index) const { return static_cast<DeviceId>(gpus + index); }
};

/// Fills an empty `node` with the node of a cluster. Boost's graphs copy but never move, so they are filled in place.
///
/// NVLink is a switch that every GPU reaches at its full rate, bridged pairs, or none. DGX-1 has the hybrid cube mesh
/// (NVIDIA, "NVIDIA DGX-1 With Tesla V100 System Architecture", WP-08437, figure 4). Cables that the cluster states
/// replace these.
///
/// PCIe is pcie_trees() of every host. Sockets are joined pair by pair with the rate of a PCIe link. No source of such
/// a tree states this rate; it is assumed that a link between sockets carries as much as a x16 slot.
///
/// Precondition: without stated cables, "hybrid-cube-mesh" has 8 GPUs.
void build_node(const Cluster& cluster, NodeGraph& node);

/// Ports and layers of the network of a job's nodes.
struct NetworkShape {
  int nodes = 1, nics = 0;
  int leaves = 0, spines = 0, cores = 0, routers = 0, groups = 0;
};

/// A cluster's first `nodes` nodes, with the part of its network that they use.
///
/// Fat tree: the ports of leaf switches go down and up in the ratio of the oversubscription. A rail-optimised tree
/// gives each NIC number its own leaves; another tree gives all NICs of a node the same leaf. When there are more
/// leaves than a spine has ports, pods of radix / 2 leaves stand under core switches. With adaptive routing all spines
/// of a pod are one device, whose links carry as much as all cables.
///
/// Dragonfly: groups of radix / 2 routers, radix / 4 NICs a router. Routers are joined all-to-all in the group, and so
/// are the groups (Kim et al., ISCA 2008, balanced: a = 2p = 2h). With adaptive routing packets also go around full
/// cables, over other routers and groups. A group is then one device, and so are the cables between groups. Their
/// links carry what every pattern of traffic can have.
class Fabric {
 public:
  /// `joined` says that the network joins another cluster. A single node then has a network, too.
  Fabric(const Cluster& cluster, int nodes, bool joined = false);

  [[nodiscard]] int nodes() const { return shape_.nodes; }
  [[nodiscard]] const NodeGraph& node() const { return node_; }
  [[nodiscard]] IdRange<FabricNode> all_nodes() const { return ids<FabricNode>(shape_.nodes); }
  /// Returns the node of a GPU, and the GPU's position in it.
  [[nodiscard]] FabricNode node_of(FabricGpu gpu) const { return id_of<FabricNode>(gpu.number() / node_.gpus); }
  [[nodiscard]] int place_in_node(FabricGpu gpu) const { return gpu.number() % node_.gpus; }
  [[nodiscard]] FabricGpu gpu_at(FabricNode node, int place) const {
    return id_of<FabricGpu>(node.number() * node_.gpus + place);
  }
  /// Returns a GPU in the graph of its node.
  [[nodiscard]] DeviceId device_of(FabricGpu gpu) const { return node_.gpu(place_in_node(gpu)); }
  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  /// Returns true when NICs are plugged in. A single node needs none.
  [[nodiscard]] bool has_network() const { return !switch_of_nic_.empty(); }
  /// The switches without the nodes, numbered from 0.
  [[nodiscard]] const Graph& switches() const { return switches_; }
  /// Returns the switch that a NIC is plugged into.
  [[nodiscard]] DeviceId switch_of(FabricNode node, int nic) const;
  /// Links of the whole fabric by id. The links of every node come first, node by node. Then come the links of every
  /// NIC (out, in), then the links of the network.
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }
  [[nodiscard]] std::uint32_t node_link(FabricNode node, std::uint32_t link) const {
    return node.value * node_.links + link;
  }
  [[nodiscard]] std::uint32_t nic_link(FabricNode node, int nic, bool out) const;
  /// First id of the links of the network. Link l of `switches()` has this id plus l.
  [[nodiscard]] std::uint32_t network_begin() const { return network_begin_; }
  /// Adds everything to an empty graph, for drawing and for checks.
  void copy_whole(Graph& all) const;

 private:
  void build_fat_tree(const Cluster& cluster);
  void build_dragonfly(const Cluster& cluster);
  void join_routers_over_devices(const Cluster& cluster, int hosts);
  void join_routers_by_cables(const Cluster& cluster, int hosts);
  DeviceId add_switch(DeviceKind kind, int index);
  void connect(DeviceId a, DeviceId b, double cables, const Cluster& cluster);

  NodeGraph node_;
  NetworkShape shape_;
  Graph switches_;
  std::vector<DeviceId> switch_of_nic_;  // by node x NIC
  std::vector<Link> links_;
  std::uint32_t network_begin_ = 0;
};

/// Marks, by link id, the links that can be full before other links of every flow over them. The others never limit a
/// flow:
///   a link up a fat tree that carries no less than all links into its switch from below,
///   a link down that carries no less than all links below its end,
///   the PCIe link of a NIC that is slower.
/// Leaving these out of routes changes no rate. `capacity` is by link id.
[[nodiscard]] std::vector<bool> possible_bottlenecks(const Fabric& fabric, const std::vector<double>& capacity);

/// Returns the ids of the links between two devices in both directions, by their names. It is empty when no cable joins
/// them.
[[nodiscard]] std::vector<std::uint32_t> links_between(const Fabric& fabric, std::string_view a, std::string_view b);

/// Returns "node 4 nic 2 to leaf 1", ...: the two ends of each link, in the order of `ids`.
[[nodiscard]] std::vector<std::string> link_names(const Fabric& fabric, std::span<const std::uint32_t> ids);

/// Returns "gpu 3", "spine 0", ...: the name of a device in drawings and messages.
[[nodiscard]] std::string name_of(const Device& device);

}  // namespace foretoken::net

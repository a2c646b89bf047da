// The links of a job's cluster in a task graph, and routes over them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/job/imperfections.h"
#include "sim/net/router.h"
#include "sim/ranks/by_link.h"
#include "sim/ranks/pipelines.h"
#include "sim/ranks/side.h"

namespace foretoken::ranks {

/// One flow: its route and its bytes. A route with many branches (a ring, a tree, a multicast) moves at one rate, the
/// rate of its slowest link, as a pipelined collective does.
struct Leg {
  std::vector<des::LinkId> route;
  Bytes bytes;
};

/// Parts of the datasheet's rates that traffic reaches.
struct LinkShares {
  double nvlink = 1, pcie = 1;
};

/// Positions of a link among the slow links of the scenario (its slow NICs, then its slow links). A link without any
/// has its full rate.
using LinkParts = ByLink<int>;

/// The links of a fabric that are slow or have failed, by link.
struct SlowLinks {
  std::vector<double> left;  ///< the remaining part of its rate
  LinkParts parts;
  std::vector<bool> failed;  ///< empty: none has failed
};

/// The rate of a transfer without other traffic, as its cost was taken.
struct Alone {
  BytesPerSecond rate;  ///< rate of one GPU's NVLink, or of a node's NICs
  bool across_nodes;    ///< true when it goes over the NICs; links inside the nodes bound it then, too
};

/// Links of a node's graph between a GPU and an NVLink switch.
struct SwitchLinks {
  std::optional<std::uint32_t> to, from;
};

/// Routes and links. GPUs have their numbers in the fabric of this side. `graph` receives the links that
/// routes use and that can become a bottleneck. Throws ConfigError where failures leave no way that a caller asks for.
class Wires {
 public:
  Wires(const net::Cluster& cluster, int gpus, const job::Imperfections& imperfections, LinkShares shares,
        des::TaskGraph& graph, Side side = {});

  /// Makes a message that takes `transfer` without other traffic, at `rate`: bytes per second of this GPU's share of
  /// the network. It is split over the NICs near its sender. Inside a node `rate` is not used.
  [[nodiscard]] std::vector<Leg> message(net::FabricGpu from, net::FabricGpu to, Seconds transfer, BytesPerSecond rate);

  /// Makes a collective over `gpus` (ascending) as NCCL's rings. Inside a node there is one ring. Across nodes there is
  /// one ring a channel, which leaves and enters every node through the NIC of that channel. It takes `transfer`
  /// without other traffic. Precondition: at least two GPUs.
  [[nodiscard]] std::vector<Leg> ring(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone);

  /// Makes the same rings with one leg for all hops of a channel, for groups whose ranks wait for one another in every
  /// layer.
  [[nodiscard]] std::vector<Leg> pipelined_ring(std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone);

  /// Makes a pipeline over the routes of its hops. Precondition: GPUs of its switch hops reach the switch.
  [[nodiscard]] Leg leg(const Pipeline& pipeline);
  /// Returns the time of pipelines that start together, where nothing is slow and `alone` is their rate of the NICs.
  /// Precondition: they move bytes between GPUs.
  [[nodiscard]] Seconds time_alone(std::span<const Pipeline> pipelines, Alone alone);
  /// Appends the links of a hop. A hop between nodes goes over the `which`-th of the NICs near its `via`.
  void take(const net::Hop& hop, int which, std::vector<des::LinkId>& route);
  /// Appends the links between a GPU and the network, over the `which`-th of the NICs near it. A flow to (`out`) or
  /// from nodes of another kind takes them. Precondition: this side is joined.
  void take_exit(net::FabricGpu gpu, int which, bool out, std::vector<des::LinkId>& route);
  /// Returns `rate`, or less where links inside the node carry less of `flows` such flows of a GPU.
  [[nodiscard]] BytesPerSecond exit_rate(net::FabricGpu gpu, int flows, BytesPerSecond rate);
  /// Returns true when working links join a GPU to an NVLink switch.
  [[nodiscard]] bool reaches_switch(net::FabricGpu gpu) const;

  [[nodiscard]] const LinkParts& parts() const { return parts_; }
  /// Returns, by link of the graph, its id in the cluster's fabric.
  [[nodiscard]] const std::vector<std::uint32_t>& link_ids() const { return ids_; }
  /// Returns the GPUs beside a link of the graph, as net::gpus_beside finds them where nothing has failed.
  [[nodiscard]] std::vector<net::FabricGpu> gpus_beside(std::uint32_t link) const {
    return net::gpus_beside(sound_router(), ids_[link]);
  }
  [[nodiscard]] net::FabricNode node_of(net::FabricGpu gpu) const { return fabric_.node_of(gpu); }
  /// Counts the NICs near a GPU when nothing has failed. Traffic between nodes is always divided among this many.
  /// Another NIC carries the share of a failed one beside its own, and failures of all nodes count equally.
  [[nodiscard]] int nics_near(net::FabricGpu gpu) const {
    return static_cast<int>(sound_router().nics_near(gpu).size());
  }
  [[nodiscard]] const net::Fabric& fabric() const { return fabric_; }

 private:
  [[nodiscard]] const std::vector<int>& working_nics(net::FabricGpu gpu) const;
  void take_link(std::uint32_t id, std::vector<des::LinkId>& route);
  [[nodiscard]] net::Route way(net::FabricGpu from, net::FabricGpu to, int nic);
  [[nodiscard]] net::Route sound_way(net::FabricGpu from, net::FabricGpu to, int nic = 0);
  [[nodiscard]] net::Router& sound_router() { return sound_ ? *sound_ : router_; }
  [[nodiscard]] const net::Router& sound_router() const { return sound_ ? *sound_ : router_; }
  [[nodiscard]] std::uint32_t switch_link(net::FabricGpu gpu, bool out) const;
  // Least capacity on a way, and rate of one flow over many hops, if nothing were slow.
  [[nodiscard]] BytesPerSecond least_capacity(net::FabricGpu from, net::FabricGpu to);
  [[nodiscard]] BytesPerSecond rate_alone(std::span<const net::Hop> hops);
  // The same rates where nodes are alike, found once for equal places in a node: of a message between nodes over the
  // NICs near its sender, and of a ring inside a node.
  [[nodiscard]] BytesPerSecond message_rate(net::FabricGpu from, net::FabricGpu to, BytesPerSecond rate);
  [[nodiscard]] BytesPerSecond ring_rate(const std::vector<net::FabricGpu>& gpus, std::span<const net::Hop> hops);
  /// Appends the links inside nodes on the way of a hop where nothing has failed. Between nodes it goes over NIC `nic`.
  void add_links_inside(const net::Hop& hop, int nic, std::vector<std::uint32_t>& links);
  /// Returns the rate of a transfer over the network without other traffic: the rate of all channels together, or less
  /// where links inside the nodes carry less of them.
  [[nodiscard]] BytesPerSecond rate_within_nodes(std::span<const std::vector<net::Hop>> channels, Alone alone);
  [[nodiscard]] std::vector<std::vector<net::Hop>> channels_over(const net::Members& members) const;

  [[nodiscard]] std::string name_of(net::FabricGpu gpu) const;

  des::TaskGraph& graph_;
  Side side_;
  net::Fabric fabric_;
  SlowLinks slow_;
  net::Router router_;
  std::optional<net::Router> sound_;  // the router without failures; present only where something has failed
  std::vector<SwitchLinks> switch_;   // by GPU of a node
  std::vector<double> capacity_;      // by link of the fabric: bytes per second that traffic reaches
  std::vector<bool> binding_;         // by link of the fabric: true when it can be a bottleneck
  std::vector<std::optional<des::LinkId>> link_;                                  // by link of the fabric, once used
  std::map<std::tuple<int, int, BytesPerSecond>, BytesPerSecond> message_rates_;  // by places, and rate of the network
  std::map<std::vector<int>, BytesPerSecond> ring_rates_;                         // by places
  LinkParts parts_;                                                               // by link of the graph
  std::vector<std::uint32_t> ids_;                                                // by link of the graph
};

}  // namespace foretoken::ranks

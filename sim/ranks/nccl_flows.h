// Collectives and messages as NCCL carries them out: its choice of algorithm and protocol, as flows over the links of a
// cluster. No measurement on that cluster is used.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/cost/collectives/nccl_wire.h"
#include "sim/ranks/wires.h"

namespace foretoken::ranks {

/// Flows that start together after a latency.
struct NcclFlows {
  Seconds latency;
  std::vector<Leg> legs;
};

/// NCCL on one cluster: its version, its settings and the architecture.
struct Nccl {
  cost::NcclArchitecture architecture = cost::NcclArchitecture::kAmpere;
  cost::NcclTuning tuning;
  cost::NcclSettings settings;
  std::optional<int> message_channels{};  ///< NCCL_NCHANNELS_PER_NET_PEER; none: NCCL chooses
  std::optional<cost::NcclFitted>
      fitted{};  ///< these replace the architecture's numbers, for fits that leave tables out
};

/// Turns collectives into flows over the links of `wires`, whose shares must be `shares_of` the architecture.
class NcclLowering {
 public:
  NcclLowering(Nccl nccl, const NodeLinks& links, Wires& wires, des::TaskGraph& graph);

  /// Returns the shares to build Wires with.
  [[nodiscard]] static LinkShares shares_of(cost::NcclArchitecture architecture, const cost::NcclTuning& tuning);

  /// Returns the flows of a collective over `gpus` (ascending). `payload` counts as in CollectiveShape.
  ///   rings           the bytes that a rank of a ring sends (broadcast: all of the payload)
  ///   trees           the payload, up and down
  ///   NVLS, NVLSTree  a share of the payload for each head; the switch reduces and multicasts it
  ///   all-to-all      a message for every pair
  /// Precondition: two GPUs or more, equally many on every node.
  [[nodiscard]] NcclFlows collective(CollectiveKind kind, Bytes payload, std::span<const net::FabricGpu> gpus);

  /// Returns NCCL's choice of algorithm and protocol. Precondition: as for collective(), and no all-to-all.
  [[nodiscard]] cost::NcclOption choice(CollectiveKind kind, Bytes payload, const net::Members& members) const;
  /// Returns the pipelines of an algorithm over `members`.
  [[nodiscard]] std::vector<Pipeline> pipelines(cost::NcclAlgorithm algorithm, const Volume& volume,
                                                const net::Members& members) const;

  /// Returns messages of `payload` each, from and to, that pass at the same time in a communicator of `gpus`
  /// (ascending, equally many on every node).
  [[nodiscard]] NcclFlows messages(Bytes payload, std::span<const net::FabricGpu> gpus,
                                   std::span<const std::pair<net::FabricGpu, net::FabricGpu>> pairs);

 private:
  [[nodiscard]] std::vector<Leg> all_to_all(Bytes payload, const net::Members& members);
  [[nodiscard]] cost::NcclPlatform platform_of(const net::Members& members) const;
  // The highest rate of a message between nodes in this communicator, and the time before its first byte.
  [[nodiscard]] BytesPerSecond message_rate(const net::Members& members) const;
  [[nodiscard]] Seconds message_latency(bool crosses) const;
  void add_message(net::FabricGpu from, net::FabricGpu to, Bytes bytes, BytesPerSecond most, std::vector<Leg>& legs);

  Nccl nccl_;
  cost::NcclWire wire_;
  const NodeLinks& links_;
  Wires& wires_;
  des::TaskGraph& graph_;
};

/// Returns the time of one collective without other traffic, over the first `ranks_a_node` GPUs of each of the first
/// `nodes` nodes.
[[nodiscard]] Seconds nccl_flow_time(CollectiveKind kind, Bytes payload, int ranks_a_node, int nodes,
                                     const net::Cluster& cluster, const Nccl& nccl);

/// Returns the time of messages without other traffic: every one of these GPUs sends to the next and receives from the
/// one before (nccl-tests sendrecv).
[[nodiscard]] Seconds nccl_shift_time(Bytes payload, int ranks_a_node, int nodes, const net::Cluster& cluster,
                                      const Nccl& nccl);

}  // namespace foretoken::ranks

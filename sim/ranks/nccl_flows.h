// Collectives and messages as NCCL carries them out: its choice of algorithm and protocol as flows over the links of a
// cluster, with nothing measured on that cluster.
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
  std::optional<int> message_channels{};     ///< NCCL_NCHANNELS_PER_NET_PEER; none: as NCCL chooses
  std::optional<cost::NcclFitted> fitted{};  ///< in the place of the architecture's: to leave tables out
};

/// Turns collectives into flows over the links of `wires`, whose shares must be `shares_of` the architecture.
class NcclLowering {
 public:
  NcclLowering(Nccl nccl, const NodeLinks& links, Wires& wires, des::TaskGraph& graph);

  /// The shares to build Wires with.
  [[nodiscard]] static LinkShares shares_of(cost::NcclArchitecture architecture, const cost::NcclTuning& tuning);

  /// A collective over `gpus` (ascending); `payload` as in CollectiveShape.
  /// Rings carry (broadcast: all of) what a rank of a ring sends; trees the payload up and down; NVLS and NVLSTree a
  /// share of it for each head, which the switch reduces and multicasts; an all-to-all is a message for every pair.
  /// Precondition: two GPUs or more, as many on every node.
  [[nodiscard]] NcclFlows collective(CollectiveKind kind, Bytes payload, std::span<const int> gpus);

  /// NCCL's choice of algorithm and protocol. Precondition: as above, and no all-to-all.
  [[nodiscard]] cost::NcclOption choice(CollectiveKind kind, Bytes payload, const net::Members& members) const;
  /// The pipelines of an algorithm there.
  [[nodiscard]] std::vector<Pipeline> pipelines(cost::NcclAlgorithm algorithm, const Volume& volume,
                                                const net::Members& members) const;

  /// Messages of `payload` each that pass at the same time in a communicator of `gpus` (ascending, as many on every
  /// node): from, to.
  [[nodiscard]] NcclFlows messages(Bytes payload, std::span<const int> gpus,
                                   std::span<const std::pair<int, int>> pairs);

 private:
  [[nodiscard]] std::vector<Leg> all_to_all(Bytes payload, const net::Members& members);
  [[nodiscard]] cost::NcclPlatform platform_of(const net::Members& members) const;
  // Most that a message between nodes moves at, in this communicator; what passes before its first byte.
  [[nodiscard]] BytesPerSecond message_rate(const net::Members& members) const;
  [[nodiscard]] Seconds message_latency(bool crosses) const;
  void add_message(int from, int to, Bytes bytes, BytesPerSecond most, std::vector<Leg>& legs);

  Nccl nccl_;
  cost::NcclWire wire_;
  const NodeLinks& links_;
  Wires& wires_;
  des::TaskGraph& graph_;
};

/// Time of one collective over the first `ranks` GPUs of each of the first `nodes` nodes of `cluster`, alone.
[[nodiscard]] Seconds nccl_flow_time(CollectiveKind kind, Bytes payload, int ranks_a_node, int nodes,
                                     const net::Cluster& cluster, const Nccl& nccl);

/// Time of messages that every one of those GPUs sends to the next and receives from the one before (nccl-tests
/// sendrecv).
[[nodiscard]] Seconds nccl_shift_time(Bytes payload, int ranks_a_node, int nodes, const net::Cluster& cluster,
                                      const Nccl& nccl);

}  // namespace foretoken::ranks

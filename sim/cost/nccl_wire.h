// What NCCL's traffic makes of links, and what a collective waits for beside its bytes: numbers an architecture.
#pragma once

#include "sim/cost/nccl_choice.h"

namespace foretoken::cost {

/// Of one GPU architecture.
struct NcclWire {
  double nvlink = 1, pcie = 1;  ///< parts of a datasheet rate that NCCL's search plans with
  double multicast = 1;         ///< part of that which NVLink's reductions in the switch reach
  /// A rank copies its own share beside what it sends, as long as sending `own_copy` of that share.
  double own_copy = 0;
  /// Pipelines fill: seconds per square root of a byte that a ring's rank sends.
  double fill_inside = 0, fill_between = 0;
};

/// Source: cables and PCIe as planned in nccl src/graph/topo.h; `multicast` nvlsEfficiency of src/graph/tuning.cc
/// (2.28). `own_copy` and the fills are fitted, one number for all public tables of an architecture together at 16 MiB
/// and more (docs/collective-flows.md).
[[nodiscard]] NcclWire nccl_wire(NcclArchitecture architecture);

/// Bytes on the wire for one of data: LL sends 8 of 16, LL128 120 of 128. Source: src/include/device.h.
[[nodiscard]] double wire_bytes_per_byte(NcclProtocol protocol);

/// Messages between nodes: each pair has `channels` connections (NCCL_NCHANNELS_PER_NET_PEER), none of which carries
/// more than kNetworkPeerChannel.
struct NcclMessages {
  int channels = 2;
};
/// Source: 19.67 GB/s over two channels (nccl-tests sendrecv on two nodes of B200, NCCL_NCHANNELS_PER_NET_PEER=2, of
/// the report that vultr_b200_sr16_np4 is from).
inline constexpr double kNetworkPeerChannel = 9.85e9;

/// Before the first byte of a message: NCCL's base latency and one hop, Simple.
[[nodiscard]] Seconds nccl_message_latency(const NcclTuning& tuning, bool crosses_nodes);

}  // namespace foretoken::cost

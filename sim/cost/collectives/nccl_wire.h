// NCCL's traffic on links, and its waits beside the bytes: numbers for each architecture.
#pragma once

#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::cost {

/// Three numbers that no source states. They are fitted for each architecture on all its public tables of 16 MiB and
/// more (docs/modeller/collectives.md, with errors on tables left out).
struct NcclFitted {
  /// A rank copies its own share beside the bytes it sends. The copy takes as long as sending `own_copy` of that share.
  double own_copy = 0;
  /// Pipelines need time to fill: seconds per square root of a byte that a ring's rank sends, inside a node and across
  /// nodes.
  double fill_inside = 0, fill_between = 0;
};

/// Precondition: Ampere or newer. There are no tables of Volta.
[[nodiscard]] NcclFitted nccl_fitted(NcclArchitecture architecture);

/// NCCL's use of links on one GPU architecture.
struct NcclWire {
  double nvlink = 1, pcie = 1;     ///< parts of a datasheet rate that NCCL's search plans with
  double multicast = 1;            ///< part of that rate that reductions in the NVLink switch reach
  BytesPerSecond message_channel;  ///< highest rate of one channel of a message between nodes
  NcclFitted fitted;
};

/// Source: cables of `tuning` (nvlink_reached); PCIe as planned in nccl src/graph/topo.h; `multicast` from
/// nvlsEfficiency of src/graph/tuning.cc (2.28). Precondition: Ampere or newer.
[[nodiscard]] NcclWire nccl_wire(NcclArchitecture architecture, const NcclTuning& tuning);

/// Bytes on the wire for one byte of data. LL sends 8 data bytes in 16, LL128 120 in 128. Source: src/include/device.h.
[[nodiscard]] double wire_bytes_per_byte(NcclProtocol protocol);

/// Channels of a message between two nodes. Up to 2.28 there are two; one in communicators with more than twice as many
/// ranks as `platform` has channels. Later versions use as many as `nic` needs. Source: ncclTopoGetNchannels in
/// src/graph/paths.cc.
[[nodiscard]] int nccl_message_channels(const NcclTuning& tuning, const NcclPlatform& platform, int ranks,
                                        BytesPerSecond nic);

enum class MessagePath : std::uint8_t { kNvlink, kPcie, kNetwork };
/// Time before the first byte of a message: NCCL's base latency and one hop, protocol Simple.
[[nodiscard]] Seconds nccl_message_latency(const NcclTuning& tuning, MessagePath path);

}  // namespace foretoken::cost

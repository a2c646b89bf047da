// What NCCL's traffic makes of links, and what a collective waits for beside its bytes: numbers an architecture.
#pragma once

#include "sim/cost/collectives/nccl_choice.h"

namespace foretoken::cost {

/// What no source states: three numbers an architecture, fitted on all its public tables together at 16 MiB and more
/// (docs/modeller/collectives.md, with what they reach on tables left out).
struct NcclFitted {
  /// A rank copies its own share beside what it sends, as long as sending `own_copy` of that share.
  double own_copy = 0;
  /// Pipelines fill: seconds per square root of a byte that a ring's rank sends, inside a node and across.
  double fill_inside = 0, fill_between = 0;
};

/// Precondition: Ampere or newer; there are no tables of Volta.
[[nodiscard]] NcclFitted nccl_fitted(NcclArchitecture architecture);

/// Of one GPU architecture.
struct NcclWire {
  double nvlink = 1, pcie = 1;     ///< parts of a datasheet rate that NCCL's search plans with
  double multicast = 1;            ///< part of that which NVLink's reductions in the switch reach
  BytesPerSecond message_channel;  ///< most that one channel of a message between nodes carries
  NcclFitted fitted;
};

/// Source: cables of `tuning` (nvlink_reached) and PCIe as planned in nccl src/graph/topo.h; `multicast`
/// nvlsEfficiency of src/graph/tuning.cc (2.28). Precondition: Ampere or newer.
[[nodiscard]] NcclWire nccl_wire(NcclArchitecture architecture, const NcclTuning& tuning);

/// Bytes on the wire for one of data: LL sends 8 of 16, LL128 120 of 128. Source: src/include/device.h.
[[nodiscard]] double wire_bytes_per_byte(NcclProtocol protocol);

/// Channels of a message between two nodes. Up to 2.28 two, in communicators with more than twice as many ranks as
/// `platform` has channels one; later as many as `nic` needs. Source: ncclTopoGetNchannels in src/graph/paths.cc.
[[nodiscard]] int nccl_message_channels(const NcclTuning& tuning, const NcclPlatform& platform, int ranks,
                                        BytesPerSecond nic);

enum class MessagePath : std::uint8_t { kNvlink, kPcie, kNetwork };
/// Before the first byte of a message: NCCL's base latency and one hop, Simple.
[[nodiscard]] Seconds nccl_message_latency(const NcclTuning& tuning, MessagePath path);

}  // namespace foretoken::cost

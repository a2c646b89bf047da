// NCCL's numbers for each GPU architecture.
#include "sim/cost/collectives/nccl_wire.h"

#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

// GB/s of one channel of a message between nodes.
//   Hopper     42 to 43 over two channels and 21 over one, H100 with EFA (Hugging Face, "The Smol Training Playbook",
//              2025, send/receive between 2 to 16 nodes)
//   Blackwell  19.67 over two, on InfiniBand (nccl-tests sendrecv on two nodes of B200, the report of table
//              vultr_b200_sr16_np4)
//   Ampere     no table shows it; assumed as Hopper
constexpr double kHopperChannel = 21.2, kBlackwellChannel = 19.67 / 2;

}  // namespace

NcclFitted nccl_fitted(NcclArchitecture architecture) {
  switch (architecture) {
    case NcclArchitecture::kVolta:
      break;
    case NcclArchitecture::kAmpere:
      return {.own_copy = 0.4, .fill_inside = 8e-9, .fill_between = 6e-9};
    case NcclArchitecture::kHopper:
      return {.own_copy = 0.3, .fill_inside = 4e-9, .fill_between = 12e-9};
    case NcclArchitecture::kBlackwell:
      return {.own_copy = 0.4, .fill_inside = 4e-9, .fill_between = 6e-9};
  }
  contract_broken("numbers are fitted from Ampere on", __FILE__, __LINE__);
}

NcclWire nccl_wire(NcclArchitecture architecture, const NcclTuning& tuning) {
  const bool hopper = architecture == NcclArchitecture::kHopper;
  const bool blackwell = architecture == NcclArchitecture::kBlackwell;
  return {.nvlink = tuning.nvlink_reached[static_cast<std::size_t>(architecture)] / nvlink_cable(architecture),
          .pcie = kNcclPartOfPcie,
          .multicast = hopper      ? 0.85
                       : blackwell ? 0.74
                                   : 1,
          .message_channel = gigabytes_per_second(blackwell ? kBlackwellChannel : kHopperChannel),
          .fitted = nccl_fitted(architecture)};
}

double wire_bytes_per_byte(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return 2;
    case NcclProtocol::kLl128:
      return 128.0 / 120;
    case NcclProtocol::kSimple:
      return 1;
  }
  contract_broken("every protocol has a size on the wire", __FILE__, __LINE__);
}

int nccl_message_channels(const NcclTuning& tuning, const NcclPlatform& platform, int ranks, BytesPerSecond nic) {
  if (tuning.message_channel_rate)
    return std::max(2, static_cast<int>(std::ceil(nic.value() / (1e9 * *tuning.message_channel_rate))));
  return 2 * ranks > 4 * platform.channels ? 1 : 2;
}

Seconds nccl_message_latency(const NcclTuning& tuning, MessagePath path) {
  constexpr auto kSimple = static_cast<std::size_t>(NcclProtocol::kSimple);
  const auto& hop = path == MessagePath::kNetwork  ? tuning.network_hop
                    : path == MessagePath::kNvlink ? tuning.nvlink_hop
                                                   : tuning.pci_hop;
  return microseconds(tuning.base.at(NcclAlgorithm::kRing)[kSimple] + hop.at(NcclAlgorithm::kRing)[kSimple]);
}

}  // namespace foretoken::cost

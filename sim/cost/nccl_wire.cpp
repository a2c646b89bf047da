// Numbers of an architecture.
#include "sim/cost/nccl_wire.h"

#include "sim/base/check.h"

namespace foretoken::cost {

NcclWire nccl_wire(NcclArchitecture architecture) {
  constexpr double kPcie = 24.0 / 31;  // generation 4: 24 planned, 31 nominal; 3 and 5 alike
  switch (architecture) {
    case NcclArchitecture::kVolta:
      return {.nvlink = 20.0 / 25, .pcie = kPcie, .own_copy = 0.4, .fill_inside = 8e-9, .fill_between = 6e-9};
    case NcclArchitecture::kAmpere:
      return {.nvlink = 20.0 / 25, .pcie = kPcie, .own_copy = 0.4, .fill_inside = 8e-9, .fill_between = 6e-9};
    case NcclArchitecture::kHopper:
      return {.nvlink = 20.6 / 25,
              .pcie = kPcie,
              .multicast = 0.85,
              .own_copy = 0.3,
              .fill_inside = 4e-9,
              .fill_between = 12e-9};
    case NcclArchitecture::kBlackwell:
      return {.nvlink = 40.1 / 50,
              .pcie = kPcie,
              .multicast = 0.74,
              .own_copy = 0.4,
              .fill_inside = 4e-9,
              .fill_between = 6e-9};
  }
  contract_broken("every architecture has its numbers", __FILE__, __LINE__);
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

Seconds nccl_message_latency(const NcclTuning& tuning, bool crosses_nodes) {
  constexpr auto kSimple = static_cast<std::size_t>(NcclProtocol::kSimple);
  const auto& hop = crosses_nodes ? tuning.network_hop : tuning.nvlink_hop;
  return microseconds(tuning.base.at(NcclAlgorithm::kRing)[kSimple] + hop.at(NcclAlgorithm::kRing)[kSimple]);
}

}  // namespace foretoken::cost

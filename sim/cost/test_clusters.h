// Makes nodes for the tests of sim/cost.
#pragma once

#include "sim/base/placement.h"

namespace foretoken::cost {

/// Returns eight A100 with NVSwitch and eight HDR NICs (DGX A100).
inline NodeLinks dgx_a100() {
  return {.nvlink_per_gpu = gigabytes_per_second(300),
          .pcie_per_gpu = gigabytes_per_second(32),
          .nic = gigabytes_per_second(25),
          .nics = 8,
          .gpus = 8,
          .oversubscription = 1,
          .hop_latency = microseconds(0.6)};
}

/// Returns eight cards on PCIe with one NIC.
inline NodeLinks pcie_box() {
  return {.nvlink_per_gpu = gigabytes_per_second(0),
          .pcie_per_gpu = gigabytes_per_second(32),
          .nic = gigabytes_per_second(12.5),
          .nics = 1,
          .gpus = 8,
          .oversubscription = 1,
          .hop_latency = microseconds(0.6)};
}

}  // namespace foretoken::cost

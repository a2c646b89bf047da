// The GPU that is measured, and the header of its samples.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "calibration/import/samples.h"

namespace foretoken::gpu {

struct Device {
  int index = 0;
  std::string name;
  std::string bus_id;  ///< its name for nvidia-smi and NVML, which ignore CUDA_VISIBLE_DEVICES
  std::size_t memory_bytes = 0, cache_bytes = 0;
  int multiprocessors = 0;
  int capability = 0;                                              ///< 90 for 9.0
  [[nodiscard]] bool has_fp8() const { return capability >= 89; }  // CUDA programming guide: Ada, Hopper and later
};

/// Counts the usable GPUs. Throws GpuError with the reason in one line when there is none: no GPU, no driver, too old a
/// driver.
[[nodiscard]] int usable_devices();

/// Makes the GPU current for this thread.
[[nodiscard]] Device open_device(int index);

/// Returns versions, clocks, power limit, ECC, PCIe, topology and date: the header of every file.
[[nodiscard]] measured::Provenance provenance_of(const Device& device);

}  // namespace foretoken::gpu

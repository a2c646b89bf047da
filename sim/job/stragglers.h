// Random speeds of GPUs. GPUs of one kind are not equally fast, one GPU's speed varies, and a step waits for the
// slowest.
#pragma once

#include <cstdint>

#include "sim/base/ids.h"

namespace foretoken::job {

/// The differences of kernel times between GPUs, and from pass to pass.
struct Stragglers {
  bool on = false;
  /// Standard deviation of the time of one GPU, relative to the typical one. It is assumed, of the order of one log:
  /// Megatron-LM 358e5f0, megatron/core/README_STRAGGLER.md, clocks from 1950 to 1980 MHz. Its job probably had 32
  /// ranks, as it prints ranks up to 28. These clocks are then the range of 32 normal draws, 4.1 standard deviations.
  double gpu_spread = 0.0037;
  double slow_nodes = 0;          ///< part of all hosts that are slow; 0.005 in MegaScale (arXiv:2402.15627)
  double slow_node_factor = 1.1;  ///< time on a slow host, relative to a typical one; about 1.1 in MegaScale
  double jitter = 0;              ///< standard deviation from pass to pass on one GPU; none is published
  std::uint64_t seed = 1;         ///< the same seed draws the same GPUs on every machine
};

/// Returns the time of kernels on `gpu` of the job, in `host`, relative to the typical GPU:
///   max(1/2, 1 + gpu_spread z), times slow_node_factor on a slow host.
[[nodiscard]] double slowness(const Stragglers& how, Gpu gpu, HostId host);

/// Returns the time of the kernels of one pass, relative to the average on this GPU: max(1/2, 1 + jitter z). `pass`
/// numbers the passes of a GPU.
[[nodiscard]] double jitter_of_pass(const Stragglers& how, Gpu gpu, std::uint64_t pass);

}  // namespace foretoken::job

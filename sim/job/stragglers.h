// GPUs of one kind are not equally fast, nor is one GPU always, and a step waits for the slowest.
#pragma once

#include <cstdint>

namespace foretoken::job {

/// How times of kernels differ between GPUs, and from pass to pass.
struct Stragglers {
  bool on = false;
  /// Standard deviation of the time of one GPU, relative to the typical one; assumed, of the order of one log:
  /// Megatron-LM 358e5f0, megatron/core/README_STRAGGLER.md, clocks from 1950 to 1980 MHz. If its job had 32 ranks
  /// (inferred: it prints ranks up to 28), these are the range of 32 normal draws, 4.1 standard deviations.
  double gpu_spread = 0.0037;
  double slow_nodes = 0;          ///< part of all nodes that are slow; MegaScale met 0.005 (arXiv:2402.15627)
  double slow_node_factor = 1.1;  ///< time on a slow node; about 10 % there
  double jitter = 0;              ///< standard deviation from pass to pass on one GPU; nobody publishes one
  std::uint64_t seed = 1;         ///< the same seed draws the same GPUs on every machine
};

/// How much longer kernels last on GPU `gpu` of the job, in node `node`, than on the typical one:
///   max(1/2, 1 + gpu_spread z), times slow_node_factor on a slow node.
[[nodiscard]] double slowness(const Stragglers& how, int gpu, int node);

/// How much longer the kernels of one pass last than on average on this GPU: max(1/2, 1 + jitter z). `pass` numbers the
/// passes of a GPU.
[[nodiscard]] double jitter_of_pass(const Stragglers& how, int gpu, std::uint64_t pass);

}  // namespace foretoken::job

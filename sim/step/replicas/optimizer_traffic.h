// The optimizer step: its memory traffic, and the kernels that the host issues for it.
#pragma once

#include "sim/job/job.h"

namespace foretoken::step {

/// Returns the bytes that the optimizer step of a GPU with that many parameters moves:
///
///   passes   3 over the main gradients: zeroing, scaling and measuring, 12 B in fp32
///   update   the runtime's optimizer_bytes, on the optimizer's share: by default clipping 8 B, Adam's reads 16 and
///            writes 14, copies of gradients and weights 10; LAMB moves 20 more
///   copies   of weights for quantised products, written once a step
///
/// Without sharding the first two are 60 B in all. The terms are from SimuMax, simumax/core, as summarised in
/// docs/modeller/step.md. Sharded gradients are zeroed, scaled and measured on the share only. A runtime's number holds
/// for moments of 4 bytes each and master weights of 4. Shorter ones move less, but never less than Adam must. A number
/// that counts Adam without master weights stays (megatron-deepspeed-2022-node). Unfused Adam moves what its kernels
/// read and write, whatever the states.
[[nodiscard]] Bytes optimizer_traffic(const job::Job& job, double parameters);
/// The same for parameters of experts, whose states are sharded over the expert-data ranks.
[[nodiscard]] Bytes expert_optimizer_traffic(const job::Job& job, double parameters);

/// Returns the host's time to issue the optimizer's kernels of a stage:
///
///   t = trained tensors x kernels a tensor x host time a kernel
///
/// It is zero where few kernels serve all tensors, and in a CUDA graph of the whole step. Ranks that share the states
/// share the tensors (PyTorch, torch/distributed/optim/zero_redundancy_optimizer.py, deals out whole tensors).
[[nodiscard]] Seconds optimizer_issue_time(const job::Job& job, Stage stage);

}  // namespace foretoken::step

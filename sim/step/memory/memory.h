// Memory of one GPU of each pipeline stage: what stays, and what every pass of a chunk adds while it runs.
//
// A timeline starts at static_memory().total(), adds pass_memory().stash when a chunk's forward pass of a micro-batch
// starts, takes it away when the backward pass ends, and is higher by `transient` in between, at the latest during the
// backward pass. Its highest point is what torch.cuda.max_memory_allocated reports; the device holds more.
#pragma once

#include "sim/job/job.h"

namespace foretoken::step {

/// What one GPU of a stage holds through the whole step, inside the framework's allocator.
struct StaticMemory {
  Bytes weights;    ///< as the layers use them
  Bytes gradients;  ///< main gradients and, in the 20-byte recipe, their 16-bit copy
  Bytes optimizer;  ///< master weights and moments, over the data-parallel ranks with zero_stage >= 1
  Bytes other;      ///< GEMM workspaces, placeholders of fused weight gradients, small buffers

  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + other; }
};

/// What one micro-batch's passes through one chunk add.
struct PassMemory {
  Bytes stash;      ///< kept from the forward pass until the backward pass ends
  Bytes transient;  ///< the most that is alive on top for a moment: gradients, recomputed tensors, logits
};

/// The model as a whole, however it is cut.
struct WholeModelMemory {
  Bytes state;                  ///< parameters times the bytes per parameter of the recipe, nothing shared out
  Bytes batch_boundaries;       ///< input of every layer, 2 s b h, for the global batch at once
  Bytes microbatch_boundaries;  ///< the same for one micro-batch
};

[[nodiscard]] StaticMemory static_memory(const job::Job& job, int stage);

[[nodiscard]] PassMemory pass_memory(const job::Job& job, int stage, int chunk);

/// What the device holds outside the allocator: CUDA context and NCCL's buffers. A job fits when this and the
/// allocator's peak fit: an allocator that runs short returns its cache before it fails.
[[nodiscard]] Bytes outside_allocator(const job::Job& job);

[[nodiscard]] WholeModelMemory whole_model_memory(const job::Job& job);

}  // namespace foretoken::step

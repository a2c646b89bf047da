// The GPU memory that PyTorch's allocator does not know of.
#include "sim/step/memory/memory.h"

namespace foretoken::step {
namespace {

/// CUDA context and kernels take 0.47 to 0.92 GiB with torch 2.1. torch.distributed and NCCL take one to two GiB more.
/// Source: stas00/ml-engineering@744d01e, training/performance/README.
constexpr double kCudaContext = 0.7 * kGiB;
constexpr double kNccl = 1.0 * kGiB;

}  // namespace

// Between GPUs that cannot reach each other's memory, NCCL's buffers lie in the memory of the host: NCCL 2.7 failed to
// make the 9.6 MB of each connection in /dev/shm there (https://github.com/NVIDIA/nccl/issues/342). Between nodes they
// are taken to stay.
Bytes outside_allocator(const job::Job& job) {
  const bool in_host = !job.cluster.peer_to_peer && job.gpus <= job.cluster.gpus_per_node;
  return Bytes(kCudaContext + (job.gpus > 1 && !in_host ? kNccl : 0));
}

}  // namespace foretoken::step

// Where Megatron's rank order puts the groups of a job on the nodes.
#pragma once

#include "sim/base/placement.h"

namespace foretoken::net {

/// Degrees of a job. Rank order is tensor fastest, then context, then data, then pipeline (Megatron-LM's default
/// "tp-cp-ep-dp-pp", megatron/core/parallel_state.py).
struct Degrees {
  int tensor = 1, context = 1, data = 1, pipeline = 1;
  [[nodiscard]] constexpr int gpus() const { return tensor * context * data * pipeline; }
};

/// The shape of the tensor-parallel group of rank 0; `domain` is the GPUs of one NVLink domain.
[[nodiscard]] GroupShape tensor_group(Degrees degrees, int domain);

/// The context-parallel group.
[[nodiscard]] GroupShape context_group(Degrees degrees, int domain);

/// The group over which gradients are reduced: data x context.
[[nodiscard]] GroupShape gradient_group(Degrees degrees, int domain);

/// Whether stage `stage` and the next one (wrapping around) lie on different NVLink domains.
[[nodiscard]] bool pipeline_hop_crosses_nodes(Degrees degrees, int domain, int stage);

/// GPUs of one domain that send to the next stage at the same time, at most the domain's GPUs.
[[nodiscard]] int pipeline_senders_per_node(Degrees degrees, int domain);

}  // namespace foretoken::net

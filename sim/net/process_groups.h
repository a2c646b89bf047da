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

/// The shape of a tensor-parallel group; `domain` is the GPUs of one NVLink domain, here called a node.
///
/// Where the degrees do not divide the nodes evenly, groups of one kind differ: the shape is then that of the group
/// that touches the most nodes, with its most ranks in one of them and the most groups that share the NICs of any node.
/// A group inside one node uses no NIC and has groups_per_node 1. Precondition, here and below: degrees and domain are
/// at least 1.
[[nodiscard]] GroupShape tensor_group(Degrees degrees, int domain);

/// The context-parallel group.
[[nodiscard]] GroupShape context_group(Degrees degrees, int domain);

/// The group over which gradients are reduced: data x context.
[[nodiscard]] GroupShape gradient_group(Degrees degrees, int domain);

/// Whether any GPU of stage `stage` and its partner in the next one (wrapping around) lie on different nodes.
/// Precondition: 0 <= stage < degrees.pipeline.
[[nodiscard]] bool pipeline_hop_crosses_nodes(Degrees degrees, int domain, int stage);

/// GPUs of one node that may send to the next stage through its NICs at the same time: those of one stage, at most the
/// node's.
[[nodiscard]] int pipeline_senders_per_node(Degrees degrees, int domain);

}  // namespace foretoken::net

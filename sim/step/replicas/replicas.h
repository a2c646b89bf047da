// What data-parallel replicas exchange: gathered parameters and reduced gradients, and how long that takes.
#pragma once

#include "sim/des/time.h"
#include "sim/job/job.h"

namespace foretoken::step {

/// The ranks over which gradients are reduced and states are shared out: data x context.
[[nodiscard]] GroupShape replica_group(const job::Job& job);

/// Time of one collective over the replicas; `bytes` as in CollectiveShape. Across nodes the runtime's factor counts,
/// and its NICs bound the rate of groups with several GPUs a node (docs/modeller/step.md): replicas share the fabric
/// with one another, and measured steps show more than nccl-tests alone.
[[nodiscard]] des::Duration replica_collective(const job::Job& job, CollectiveKind kind, double bytes);

/// Bytes of so many parameters, as in CollectiveShape: of their weights gathered, of their gradients reduced.
[[nodiscard]] Bytes gathered_bytes(const job::Job& job, double parameters);
[[nodiscard]] Bytes reduced_bytes(const job::Job& job, double parameters);

/// All-gather of the 16-bit weights of so many parameters.
[[nodiscard]] des::Duration gather_parameters(const job::Job& job, double parameters);

/// Reduction of the gradients of so many parameters: a reduce-scatter where their optimizer states are shared out, else
/// an all-reduce.
[[nodiscard]] des::Duration reduce_gradients(const job::Job& job, double parameters);

/// Element size of the reduced gradients.
[[nodiscard]] double gradient_element_bytes(const job::Job& job);

}  // namespace foretoken::step

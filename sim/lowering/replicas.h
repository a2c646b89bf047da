// What data-parallel replicas exchange: gathered parameters and reduced gradients, and how long that takes.
#pragma once

#include "sim/des/time.h"
#include "sim/lowering/scenario.h"

namespace foretoken::lowering {

/// The ranks over which gradients are reduced and states are shared out: data x context.
[[nodiscard]] GroupShape replica_group(const Scenario& scenario);

/// Time of one collective over the replicas; `bytes` as in CollectiveShape. Across nodes the runtime's factor counts,
/// and its NICs bound the rate of groups with several GPUs a node (docs/models/step.md): replicas share the fabric with
/// one another, and measured steps show more than nccl-tests alone.
[[nodiscard]] des::Duration replica_collective(const Scenario& scenario, CollectiveKind kind, double bytes);

/// Bytes of so many parameters, as in CollectiveShape: of their weights gathered, of their gradients reduced.
[[nodiscard]] Bytes gathered_bytes(const Scenario& scenario, double parameters);
[[nodiscard]] Bytes reduced_bytes(const Scenario& scenario, double parameters);

/// All-gather of the 16-bit weights of so many parameters.
[[nodiscard]] des::Duration gather_parameters(const Scenario& scenario, double parameters);

/// Reduction of the gradients of so many parameters: a reduce-scatter where their optimizer states are shared out, else
/// an all-reduce.
[[nodiscard]] des::Duration reduce_gradients(const Scenario& scenario, double parameters);

/// Element size of the reduced gradients.
[[nodiscard]] double gradient_element_bytes(const Scenario& scenario);

}  // namespace foretoken::lowering

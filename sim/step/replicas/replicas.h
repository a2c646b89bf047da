// Collectives around the passes: gradients, parameters, norm gradients, tied embeddings.
#pragma once

#include "sim/job/parts.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// The ranks over which gradients are reduced and states are shared out: data x context.
[[nodiscard]] GroupShape replica_group(const job::Job& job);

/// Element size of the reduced gradients.
[[nodiscard]] double gradient_element_bytes(const job::Job& job);

/// Reduction of the gradients of so many parameters over the replicas of `stage`: a reduce-scatter where their
/// optimizer states are shared out, else an all-reduce. Across nodes the runtime's factor counts, and its NICs bound
/// the rate of groups with several GPUs a node (docs/modeller/step.md): replicas share the fabric with one another, and
/// measured steps show more than nccl-tests do. `part`, here and below: the job as it is on the nodes of `stage`.
[[nodiscard]] Communication gradient_reduction(const job::Job& part, Stage stage, double parameters);

/// All-gather of the weights of so many parameters, over the same links as their gradients.
[[nodiscard]] Communication parameter_gather(const job::Job& part, Stage stage, double parameters);

/// All-reduce of the gradients of all norms of `stage` over its tensor ranks (sequence parallelism).
/// Precondition: `layers` is how many layers the stage has.
[[nodiscard]] Communication norm_reduction(const job::Job& part, Stage stage, int layers);

/// All-reduce of the token table's gradient: first and last stage's ranks in pairs.
[[nodiscard]] Communication tied_embedding_reduction(const job::Job& job, const job::Parts& parts);

/// All-reduce of one number over all ranks: the gradient norm, a barrier.
[[nodiscard]] Communication gradient_norm(const job::Job& job, const job::Parts& parts);

}  // namespace foretoken::step

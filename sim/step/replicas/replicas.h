// Collectives around the passes: gradients, parameters, norm gradients, tied embeddings.
#pragma once

#include "sim/job/parts.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// Returns the ranks over which gradients are reduced and states are sharded: data x context.
[[nodiscard]] GroupShape replica_group(const job::Job& job);

/// Returns the reduction of the gradients of `parameters` parameters over the replicas of `stage`. It is a
/// reduce-scatter where their optimizer states are sharded, else an all-reduce. Across nodes the runtime's factor
/// counts. The runtime's NICs bound the rate of groups with several GPUs a node (docs/modeller/step.md): replicas share
/// the fabric with one another, and measured steps take longer than nccl-tests. `part`, here and below, is the job as
/// it is on the nodes of `stage`.
[[nodiscard]] Communication gradient_reduction(const job::Job& part, Stage stage, double parameters);

/// Returns the all-gather of the weights of `parameters` parameters, over the same links as their gradients.
[[nodiscard]] Communication parameter_gather(const job::Job& part, Stage stage, double parameters);

/// The same of the weights of experts, over the expert-data ranks.
[[nodiscard]] Communication expert_gradient_reduction(const job::Job& part, Stage stage, double parameters);
[[nodiscard]] Communication expert_parameter_gather(const job::Job& part, Stage stage, double parameters);

/// Returns the all-reduce of the gradients of all norms of `stage` over its tensor ranks (sequence parallelism).
/// Precondition: the stage has `layers` layers.
[[nodiscard]] Communication norm_reduction(const job::Job& part, Stage stage, int layers);

/// Returns the all-reduce of the token table's gradient between ranks of the first and the last stage in pairs.
/// `table` counts the parameters of the table on one tensor rank.
[[nodiscard]] Communication tied_embedding_reduction(const job::Job& job, const job::Parts& parts, double table);

/// The same between the first stage and the stage with the first layer of a decoder behind an encoder. Megatron-LM
/// reduces over all holders at once (23.04, megatron/core/parallel_state.py, the embedding group); the two reductions
/// of pairs here follow one another. Precondition: that stage holds a table of its own.
[[nodiscard]] Communication decoder_table_reduction(const job::Job& job, const job::Parts& parts, double table);

/// Returns the all-reduce of gradients between the ranks of `stage` and their partners on stage p-1-r, which hold the
/// same layers in another copy of the model. `parameters` counts those that one rank has to reduce. Where the runtime
/// shards optimizer states, it is the rank's shard. Across nodes the runtime's factor counts. Precondition: the
/// pipeline holds two copies of the model, and `stage` is in its first half.
[[nodiscard]] Communication copy_reduction(const job::Job& job, const job::Parts& parts, Stage stage,
                                           double parameters);

/// Returns stage p-1-r, the partner of stage r: with the same layers in the other copy of the model, or with room for
/// its activations.
[[nodiscard]] Stage twin_of(const job::Job& job, Stage stage);

/// Returns true when any rank of a stage and its partner on stage p-1-r stand on different nodes.
[[nodiscard]] bool twins_on_two_nodes(const job::Job& job, const job::Parts& parts, Stage stage);

/// Returns the all-reduce of one number over all ranks: the gradient norm, a barrier.
[[nodiscard]] Communication gradient_norm(const job::Job& job, const job::Parts& parts);

}  // namespace foretoken::step

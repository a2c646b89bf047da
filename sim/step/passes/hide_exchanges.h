// Exchanges of experts beside the pass of another micro-batch.
#pragma once

#include "sim/step/passes/lower_layer.h"

namespace foretoken::step {

/// Shortens the exchanges of a layer by what the pass of another micro-batch in the other direction hides, as in
/// Megatron-Core's combined passes (`overlap_moe_expert_parallel_comm`,
/// core/models/common/model_chunk_schedule_plan.py):
///
///   dispatch              beside the backward pass of the experts
///   combine               beside the backward pass of attention
///   gradient of combine   beside the forward pass of attention
///   gradient of dispatch  beside the forward pass of the experts
///
/// An exchange holds a part `held` of the multiprocessors while it runs, so the kernels beside it lose that part of its
/// time. This loss stays with the exchange: of a time c beside kernels of b, min(c (1 - held), b) is hidden. A part
/// `with_partner` of the passes has a partner, and the others hide nothing. Where passes alternate, only the first
/// forward and the last backward pass of a step have none: with m micro-batches the part is 1 - 1/m. Both passes of a
/// pair have one. Precondition: with_partner and held are from 0 to 1.
void hide_exchanges(TimedOps& forward, TimedOps& backward, double with_partner, double held);

/// Returns the part of the passes with a partner where passes alternate. Precondition: microbatches >= 1.
[[nodiscard]] constexpr double with_partner_in_turn(int microbatches) { return 1 - 1.0 / microbatches; }

/// Returns true when the pairs of passes of the job's schedule hide exchanges of experts.
[[nodiscard]] bool pairs_hide_exchanges(const job::Job& job);

/// Returns the multiprocessors that an exchange of the job's experts holds.
[[nodiscard]] int held_multiprocessors(const job::Job& job);

/// Returns the part of a GPU's multiprocessors that the job's exchanges of experts hold.
[[nodiscard]] double held_by_exchanges(const job::Job& job);

}  // namespace foretoken::step

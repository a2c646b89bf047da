// Collectives and messages inside passes.
#pragma once

#include "sim/model/layer_ops.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// A collective over the ranks of `axis` inside a pass, with the runtime's factor. `part`, here and below: the job as
/// it is on nodes of one kind; the row counts its stages from the part's first.
[[nodiscard]] Communication pass_collective(const job::Job& part, Axis axis, CollectiveKind kind, Bytes payload);

/// The row of an op; absent when it computes.
[[nodiscard]] std::optional<Communication> communication_of(const job::Job& part, const model::LayerOp& op);

/// The row of an op in `rows`, where ops that move the same share one; absent when it computes.
[[nodiscard]] std::optional<CommunicationId> add_communication(Communications& rows, const job::Job& part,
                                                               const model::LayerOp& op);

/// All that the passes of `part` exchange.
[[nodiscard]] Communications pass_communications(const job::Job& part);

}  // namespace foretoken::step

// Collectives and messages inside passes.
#pragma once

#include "sim/model/layer_ops.h"
#include "sim/step/communication.h"

namespace foretoken::step {

/// Returns a collective over the ranks of `axis` inside a pass, with the runtime's factor. `part`, here and below, is
/// the job as it is on nodes of one kind. The row counts its stages from the part's first.
[[nodiscard]] Communication pass_collective(const job::Job& part, Axis axis, CollectiveKind kind, Bytes payload);

/// Returns the row of an op, or nothing when the op computes.
[[nodiscard]] std::optional<Communication> communication_of(const job::Job& part, const model::LayerOp& op);

/// Returns the row of an op in `rows`, or nothing when the op computes. Ops that move the same share a row.
[[nodiscard]] std::optional<CommunicationId> add_communication(Communications& rows, const job::Job& part,
                                                               const model::LayerOp& op);

/// Returns everything that the passes of `part` exchange.
[[nodiscard]] Communications pass_communications(const job::Job& part);

}  // namespace foretoken::step

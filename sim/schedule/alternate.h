// The pattern behind the synchronous schedules: warm up with forwards, alternate with backwards, drain.
#pragma once

#include <span>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// `warmup` forwards, then one forward and one backward in turn while forwards last, then the remaining backwards.
/// A schedule of this kind is thus an order of forwards, an order of backwards and a warm-up count for every stage.
/// Precondition: 0 <= warmup <= forwards.size() == backwards.size().
[[nodiscard]] StageProgram warm_up_then_alternate(std::span<const StageOp> forwards, std::span<const StageOp> backwards,
                                                  int warmup);

/// The pass `kind` of micro-batches 0 .. microbatches-1 of chunk 0, in order.
[[nodiscard]] StageProgram passes_in_order(OpKind kind, int microbatches);

}  // namespace foretoken::schedule

// Counts the ops of a program.
#include "sim/schedule/op_counts.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::schedule {

OpCounts::OpCounts(const Program& program, PipelineShape shape) : slots_(shape), times_(slots_.count(), 0) {
  for (const Stage stage : program.stages.ids())
    for (const StageOp& op : program.stages[stage])
      if (slots_.has(op)) {
        ++times_[slots_.of(stage, op)];
        used_[static_cast<std::size_t>(op.kind)] = true;
      }
}

OpKind OpCounts::maker(Place at, MicroBatch microbatch, Result result) const {
  std::optional<OpKind> first;
  for (const OpTraits& one : kOpTraits) {
    if (!one.makes.has(result)) continue;
    if (times(at, one.kind, microbatch) > 0) return one.kind;
    if (!first) first = one.kind;
  }
  expects(first.has_value(), "some kind of op makes every result");
  return *first;
}

bool OpCounts::any(Place at, MicroBatch microbatch) const {
  return std::ranges::any_of(kOpTraits, [&](const OpTraits& one) { return times(at, one.kind, microbatch) > 0; });
}

}  // namespace foretoken::schedule

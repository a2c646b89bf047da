// The pattern behind the synchronous schedules: warm up with forwards, alternate with backwards, drain.
#pragma once

#include <functional>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Every stage runs some forwards first. Then a forward and a backward take turns while forwards last. The remaining
/// backwards follow. Such a schedule is an order of forwards, an order of backwards and a warm-up for every stage.
struct Alternation {
  StageProgram forwards, backwards;
  std::function<int(Stage)> warm_up;  ///< forwards before the first backward; a larger number means all forwards
};

/// Returns the looped program of that order. Precondition: there are as many forwards as backwards.
[[nodiscard]] Program alternating_program(PipelineShape shape, const Alternation& order);

/// Returns the op `kind` of every micro-batch of chunk 0, in order.
[[nodiscard]] StageProgram ops_in_order(OpKind kind, int microbatches);

}  // namespace foretoken::schedule

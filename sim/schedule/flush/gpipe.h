// GPipe: all forwards of the step, then all backwards.
#pragma once

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// GPipe, arXiv:1811.06965 figure 2: F0 .. F(m-1) on every stage, then the backwards in reverse order, newest
/// activations first. A stage stashes m micro-batches. Precondition: p, m >= 1, v = 1.
[[nodiscard]] Program gpipe(PipelineShape shape);

/// GPipe with the backwards oldest first, B0 .. B(m-1). It takes the same time when costs are equal.
[[nodiscard]] Program gpipe_fifo(PipelineShape shape);

}  // namespace foretoken::schedule

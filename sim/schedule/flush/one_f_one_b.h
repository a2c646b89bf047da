// 1F1B (PipeDream-Flush): each stage starts its backwards as early as it can and then alternates.
#pragma once

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Non-interleaved 1F1B. Stage r runs min(p-1-r, m) forwards, then a forward and a backward in turn, then the remaining
/// backwards; micro-batches in order. Stage r stashes min(p-r, m) micro-batches. Fewer micro-batches than stages, and a
/// single stage, are legal.
/// Source: arXiv:2006.09503; Megatron-Core forward_backward_pipelining_without_interleaving.
/// Precondition: p, m >= 1, v = 1.
[[nodiscard]] Program one_f_one_b(PipelineShape shape);

}  // namespace foretoken::schedule

// Reads the times of a run as Megatron-LM's timers measure them on one rank.
#pragma once

#include "sim/base/ids.h"
#include "sim/base/units.h"
#include "sim/des/engine.h"
#include "sim/step/lower.h"

namespace foretoken::observe {

/// The timers of one rank over a step (megatron/core/timers.py, --timing-log-level 2).
struct RankTimers {
  Seconds forward, backward;  ///< forward-compute and backward-compute: sums over the micro-batches
  Seconds forward_backward;   ///< from the start of the step to reduced gradients
  Seconds gradients;          ///< all-grads-sync: from the last pass to reduced gradients, waiting included
  Seconds parameters;         ///< params-all-gather: of gathers after the optimizer
  Seconds optimizer;          ///< optimizer: with these gathers
};

/// Returns the timers of the GPU of `stage` that `run` shows. Precondition: a schedule with a flush.
[[nodiscard]] RankTimers rank_timers(const step::LoweredStep& step, const des::RunResult& run, Stage stage);

}  // namespace foretoken::observe

// What each pipeline stage did during a run: busy time, and where the busiest one's time went.
#pragma once

#include <span>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/lower.h"

namespace foretoken::observe {

/// One stage's passes.
struct StageActivity {
  des::Instant first_forward_start, last_backward_end;
  des::Duration busy;  ///< kernels, tensor- and context-parallel communication and the host inside passes
};

/// Where a stage's time went, every instant once: compute before communication before waiting. The parts add up to the
/// makespan.
struct StageSplit {
  des::Duration compute, tensor_comm, context_comm, pipeline_comm, data_comm, optimizer, bubble, host, other;
};

/// A step, watched.
struct Observations {
  des::Duration makespan;
  std::vector<StageActivity> stages;
  int busiest_stage = 0;  ///< most busy time, lowest on a tie
  StageSplit busiest;
};

/// Joins a run with the meaning of its tasks. `stretch`: by task, how much longer slow GPUs made it (empty: not at
/// all); that is computing, too.
[[nodiscard]] Observations observe_stages(const step::LoweredStep& step, const des::RunResult& run,
                                          std::span<const des::Duration> stretch = {});

}  // namespace foretoken::observe

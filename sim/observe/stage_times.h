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
  des::Duration busy;  ///< kernels, communication and the host inside passes
};

/// Where time goes, every instant once: compute before communication before waiting. The parts add up to the whole.
template <class Time>
struct TimeSplit {
  Time compute{};
  PerAxis<Time> comm;  ///< communication over each axis
  Time optimizer{}, bubble{}, host{}, other{};
};
using StageSplit = TimeSplit<des::Duration>;

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

// A folded step as it is observed, without a task graph.
#pragma once

#include <memory>

#include "sim/job/job.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"

namespace foretoken::fast {

/// The numbers of one step. They equal those of lower(), des::run() and the observers to the picosecond and the byte.
struct ObservedStep {
  step::LoweredStep step;  ///< its workload is empty
  observe::Observations observations;
  PerStage<observe::StageTimeline> memory;  ///< without points
  std::size_t tasks = 0;                    ///< of the graph that was not built
};

/// Returns true when the step of `job` can be observed without a graph: its passes wait for messages and for the first
/// gathers of parameters only, nothing moves to the host, and the schedule has a flush.
[[nodiscard]] bool has_observed_step(const job::Job& job);

/// Walks the folded step of `job`. Throws ConfigError when the step is absurdly long, as lower() does. Precondition:
/// has_observed_step().
[[nodiscard]] ObservedStep observe_step(const job::Job& job);

}  // namespace foretoken::fast

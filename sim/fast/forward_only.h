// The time of an evaluation step, without a task graph where nothing is sharded.
#pragma once

#include "sim/job/job.h"

namespace foretoken::fast {

/// Returns step::forward_only_time(job), to the picosecond. The pipeline is walked; gathers of sharded parameters need
/// the graph.
[[nodiscard]] Seconds forward_only_time(const job::Job& job);

}  // namespace foretoken::fast

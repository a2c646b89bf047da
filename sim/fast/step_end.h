// The end of a step whose pipeline has run elsewhere: gradients, norm, optimizer.
#pragma once

#include "sim/fast/pipeline_plan.h"
#include "sim/step/workload.h"

namespace foretoken::fast {

/// Adds streams for every stage of `job` to an empty workload.
void add_streams(step::Workload& workload, const job::Job& job);

/// Adds a delay for every instant of `pipeline` that the end of the step waits for. Their meanings say nothing.
[[nodiscard]] step::PipelineEnds add_known_ends(step::Workload& workload, const PlanRun& pipeline);

}  // namespace foretoken::fast

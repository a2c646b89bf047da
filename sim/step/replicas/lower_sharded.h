// The passes of a step with gradients (ZeRO-2), or parameters too (ZeRO-3, FSDP), sharded over the replicas.
#pragma once

#include "sim/job/job.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// The treatment of a unit's parameters and gradients in every micro-batch.
struct ShardingPlan {
  bool gathers_forward = false;      ///< parameters are gathered before a unit's forward pass
  bool gathers_backward = false;     ///< they are dropped after it, and gathered again before its backward pass
  int gathers_in_flight = 2;         ///< units gathered and not yet used; 1: nothing is gathered ahead
  bool waits_for_reduction = false;  ///< the next unit's backward pass starts after the reduce-scatter
};

/// Returns the plan of a job with zero_stage 2 or 3.
[[nodiscard]] ShardingPlan sharding_plan(const job::Job& job);

/// Appends every pass of a job with zero_stage 2 or 3 (one stage, one chunk), its gathers and its reduce-scatters.
/// `finished` of the result holds the last pass and the last reduce-scatter.
PipelineEnds lower_sharded(Workload& workload, const job::Job& job, const schedule::Program& program,
                           PassEmitter& emitter);

}  // namespace foretoken::step

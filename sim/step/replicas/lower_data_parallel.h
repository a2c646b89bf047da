// Data parallelism in a step: gradient reduction, parameter gathering, the optimizer and its barriers.
#pragma once

#include "sim/job/job.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// Adds the parameter all-gathers of a distributed optimizer that overlap the first forward passes. The result is empty
/// when the job has none. Must be called before the pipeline is lowered. `trained`, here and below, counts the
/// parameters with gradients.
[[nodiscard]] ForwardGates lower_parameter_gather(Workload& workload, const job::Job& job,
                                                  const BlockParameters& trained);

/// Adds gradient reduction, tied-embedding all-reduce, gradient norm, optimizer step and, unless overlapped, the
/// parameter all-gather. The order follows Megatron's finalize_model_grads and optimizer step.
void lower_step_end(Workload& workload, const job::Job& job, const BlockParameters& trained, const PipelineEnds& ends);

/// The instants at which a pipeline ends, as PipelineEnds lists its tasks.
struct PipelineInstants {
  Table<Stage, std::vector<des::Instant>> finished;
  Table<Stage, Table<Chunk, std::vector<des::Instant>>> gradient_blocks;
  bool reduced = false;
};

/// Returns the end of the last task that lower_step_end() adds, where the pipeline ends at these instants. No graph is
/// written. Precondition: nothing moves to the host.
[[nodiscard]] des::Instant time_step_end(const job::Job& job, const BlockParameters& trained,
                                         const PipelineInstants& ends);

/// Returns the updates of stages inside a pipeline without a flush. A stage reduces its gradients and updates its
/// weights by itself: no gradient norm is taken over all ranks. `workload` and `job` must outlive the result.
[[nodiscard]] Update stage_updates(Workload& workload, const job::Job& job, const BlockParameters& trained);

}  // namespace foretoken::step

// Data parallelism in a step: gradient reduction, parameter gathering, the optimizer and its barriers.
#pragma once

#include "sim/job/job.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/workload.h"

namespace foretoken::step {

/// Parameter all-gathers of a distributed optimizer that overlap the first forward passes; empty when the scenario has
/// none. Must be called before the pipeline is lowered.
[[nodiscard]] ForwardGates lower_parameter_gather(Workload& workload, const job::Job& job);

/// Gradient reduction, tied-embedding all-reduce, gradient norm, optimizer step and, unless overlapped, the parameter
/// all-gather, in the order of Megatron's finalize_model_grads and optimizer step.
void lower_step_end(Workload& workload, const job::Job& job, const PipelineEnds& ends);

/// Memory traffic of the optimizer step of a GPU with that many parameters.
[[nodiscard]] Bytes optimizer_traffic(const job::Job& job, double parameters);

}  // namespace foretoken::step

// What data parallelism adds to a step: gradient reduction, parameter gathering, the optimizer and its barriers.
#pragma once

#include "sim/lowering/lower_pipeline.h"
#include "sim/lowering/scenario.h"
#include "sim/lowering/workload.h"

namespace foretoken::lowering {

/// Parameter all-gathers of a distributed optimizer that overlap the first forward passes; empty when the scenario has
/// none. Must be called before the pipeline is lowered.
[[nodiscard]] ForwardGates lower_parameter_gather(Workload& workload, const Scenario& scenario);

/// Gradient reduction, tied-embedding all-reduce, gradient norm, optimizer step and, unless overlapped, the parameter
/// all-gather, in the order of Megatron's finalize_model_grads and optimizer step.
void lower_step_end(Workload& workload, const Scenario& scenario, const PipelineEnds& ends);

/// First and last stage's ranks that share a tied embedding, in pairs; `mixed`: on nodes of different kinds.
[[nodiscard]] GroupShape tied_pair(const Scenario& scenario, bool mixed = false);

/// Memory traffic of the optimizer step of one stage's GPU.
[[nodiscard]] Bytes optimizer_traffic(const Scenario& scenario, int stage);

}  // namespace foretoken::lowering

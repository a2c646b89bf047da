// One run: a scenario in, a prediction with everything that reports need out.
#pragma once

#include "sim/des/engine.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/scenario.h"
#include "sim/lowering/unfold.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"
#include "sim/report/metrics.h"

namespace foretoken::app {

/// Everything one run produced. Movable, not copyable; `step` points into itself only through its passes.
struct Simulation {
  lowering::Scenario scenario;
  lowering::LoweredStep step;
  des::RunResult run;
  observe::Observations observations;
  std::vector<observe::StageTimeline> memory;  ///< per stage
  report::Metrics metrics;
};

/// How a step is simulated. Folded, one GPU a pipeline stage stands for all that do the same; unfolded, every GPU of
/// the job is there, and what is reported is the rank whose work ends last.
struct HowToRun {
  lowering::Fidelity fidelity = lowering::Fidelity::kStage;
  bool unfolded = false;
  lowering::Traffic traffic = lowering::Traffic::kFlows;  ///< of an unfolded step
};

/// Lowers, runs, watches and measures one step.
[[nodiscard]] Simulation simulate(lowering::Scenario scenario, const HowToRun& how);
[[nodiscard]] Simulation simulate(lowering::Scenario scenario,
                                  lowering::Fidelity fidelity = lowering::Fidelity::kStage);

/// The numbers of simulate() alone, without advice for what does not fit: for questions asked many times over.
[[nodiscard]] report::Metrics predict(const lowering::Scenario& scenario);

}  // namespace foretoken::app

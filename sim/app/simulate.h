// One run: a scenario in, a prediction with everything that reports need out.
#pragma once

#include "sim/des/engine.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/scenario.h"
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

/// Lowers, runs, watches and measures one step.
[[nodiscard]] Simulation simulate(lowering::Scenario scenario,
                                  lowering::Fidelity fidelity = lowering::Fidelity::kStage);

/// The numbers of simulate() alone, without advice for what does not fit: for questions asked many times over.
[[nodiscard]] report::Metrics predict(const lowering::Scenario& scenario);

}  // namespace foretoken::app

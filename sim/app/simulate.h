// One run: a scenario in, a prediction with everything that reports need out.
#pragma once

#include <optional>

#include "sim/des/engine.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/scenario.h"
#include "sim/lowering/unfold.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"
#include "sim/observe/waits.h"
#include "sim/report/metrics.h"

namespace foretoken::app {

/// How a step is simulated. Folded, one GPU a pipeline stage stands for all that do the same; unfolded, every GPU of
/// the job is there, and what is reported is the rank that holds what the step waits for (observe::rank_to_show).
struct HowToRun {
  lowering::Fidelity fidelity = lowering::Fidelity::kStage;
  bool unfolded = false;  ///< imperfections and stragglers are always simulated so
  /// Of an unfolded step; not stated: flows when it was asked to be unfolded or where links are imperfect.
  std::optional<lowering::Traffic> traffic = std::nullopt;
};

/// The same with nothing left open.
[[nodiscard]] HowToRun resolved(HowToRun how, const lowering::Scenario& scenario);

/// Everything one run produced. Movable, not copyable; `step` points into itself only through its passes.
struct Simulation {
  lowering::Scenario scenario;
  HowToRun how;  ///< resolved
  lowering::LoweredStep step;
  des::RunResult run;
  observe::Observations observations;
  observe::Waits waits;
  std::vector<observe::StageTimeline> memory;  ///< per stage
  report::Metrics metrics;
};

/// Lowers, runs, watches and measures one step.
[[nodiscard]] Simulation simulate(lowering::Scenario scenario, const HowToRun& how);
[[nodiscard]] Simulation simulate(lowering::Scenario scenario,
                                  lowering::Fidelity fidelity = lowering::Fidelity::kStage);

/// The numbers of simulate() alone, without advice for what does not fit: for questions asked many times over.
[[nodiscard]] report::Metrics predict(const lowering::Scenario& scenario);

/// The step time of simulate() alone.
[[nodiscard]] Seconds step_time(const lowering::Scenario& scenario, const HowToRun& how);
/// The same of a step that is lowered already. Imperfections and stragglers change no lowered step: scenarios that
/// differ in them alone share it.
[[nodiscard]] Seconds step_time(const lowering::LoweredStep& step, const lowering::Scenario& scenario,
                                const HowToRun& how);

}  // namespace foretoken::app

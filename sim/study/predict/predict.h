// One run: a scenario in, a prediction with everything that reports need out.
#pragma once

#include <optional>

#include "sim/des/engine.h"
#include "sim/job/job.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"
#include "sim/observe/waits.h"
#include "sim/ranks/unfold.h"
#include "sim/report/metrics.h"
#include "sim/step/lower.h"

namespace foretoken::study {

/// How a step is simulated. Folded, one GPU a pipeline stage stands for all that do the same; unfolded, every GPU of
/// the job is there, and what is reported is the rank that holds what the step waits for (observe::rank_to_show).
struct HowToRun {
  step::Fidelity fidelity = step::Fidelity::kStage;
  bool unfolded = false;  ///< imperfections and stragglers are always simulated so
  /// Of an unfolded step; not stated: flows when it was asked to be unfolded or where links are imperfect.
  std::optional<ranks::Traffic> traffic = std::nullopt;
};

/// The same with nothing left open.
[[nodiscard]] HowToRun resolved(HowToRun how, const job::Job& job);

/// Everything one run produced. Movable, not copyable; `step` points into itself only through its passes.
struct Simulation {
  job::Job job;
  HowToRun how;  ///< resolved
  step::LoweredStep step;
  des::RunResult run;
  observe::Observations observations;
  observe::Waits waits;
  std::vector<observe::StageTimeline> memory;  ///< per stage
  report::Metrics metrics;
};

/// Lowers, runs, watches and measures one step.
[[nodiscard]] Simulation simulate(job::Job job, const HowToRun& how);
[[nodiscard]] Simulation simulate(job::Job job, step::Fidelity fidelity = step::Fidelity::kStage);

/// The numbers of simulate() alone, without advice for what does not fit: for questions asked many times over.
[[nodiscard]] report::Metrics predict(const job::Job& job);

/// The step time of simulate() alone.
[[nodiscard]] Seconds step_time(const job::Job& job, const HowToRun& how);
/// The same of a step that is lowered already. Imperfections and stragglers change no lowered step: scenarios that
/// differ in them alone share it.
[[nodiscard]] Seconds step_time(const step::LoweredStep& step, const job::Job& job, const HowToRun& how);

}  // namespace foretoken::study

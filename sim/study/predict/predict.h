// One complete prediction: a job in; its step, what happened in it, and every number that writers show out.
#pragma once

#include <optional>

#include "sim/des/engine.h"
#include "sim/job/made.h"
#include "sim/observe/memory_timeline.h"
#include "sim/observe/stage_times.h"
#include "sim/observe/waits.h"
#include "sim/ranks/unfold.h"
#include "sim/report/metrics.h"
#include "sim/step/lower.h"
#include "sim/study/predict/interval.h"

namespace foretoken::study {

/// The way a step is simulated, and which parts of a prediction are worth their time.
struct How {
  step::Fidelity fidelity = step::Fidelity::kStage;
  /// Folded, one GPU a pipeline stage stands for all that do the same. Unfolded, every GPU of the job is there, and the
  /// numbers are of the rank that holds what the step waits for (observe::rank_to_show). Imperfections and stragglers
  /// are always simulated unfolded.
  bool unfolded = false;
  /// Traffic of an unfolded step. Not stated: flows when it was asked to be unfolded or where links are imperfect.
  std::optional<ranks::Traffic> traffic = std::nullopt;

  bool advice = false;  ///< for a job that does not fit: simulates up to 31 changes of it
  bool delays = false;  ///< for slow hardware: runs the step again without each part of it, at most fourteen times
  std::optional<IntervalQuestion> interval = std::nullopt;
};

/// Returns the same with nothing left open. Throws ConfigError when the job cannot be run so.
[[nodiscard]] How resolved(How how, const job::Job& job);

/// Everything one run produced. Movable, not copyable; `step` points into itself only through its passes.
struct Prediction {
  job::Job job;
  job::Notes notes;  ///< of making the job; metrics has them too, with those of the run
  How how;           ///< resolved, and without the parts that were asked for
  step::LoweredStep step;
  des::RunResult run;
  observe::Observations observations;
  observe::Waits waits;
  std::vector<observe::StageTimeline> memory;  ///< per stage
  report::Metrics metrics;                     ///< complete: nobody adds to it
};

/// Predicts one step of a job.
[[nodiscard]] Prediction predict(job::Made made, const How& how = {});

/// Returns the step time of predict() alone.
[[nodiscard]] Seconds step_time(const job::Job& job, const How& how);
/// Returns the same of a step that is lowered already. Imperfections and stragglers change no lowered step: jobs that
/// differ in them alone share it.
[[nodiscard]] Seconds step_time(const step::LoweredStep& step, const job::Job& job, const How& how);

}  // namespace foretoken::study

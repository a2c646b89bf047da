// Makes one complete prediction of a job: its step, the run, the observations, and every number that writers show.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/process/watch.h"
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

/// The slow hardware whose cost is measured: none, all of it together, or also its parts one by one.
enum class Delays : std::uint8_t { kNone, kTogether, kEach };

/// The way a step is simulated, and the optional parts of a prediction.
struct How {
  step::Fidelity fidelity = step::Fidelity::kStage;
  /// In a folded run one GPU of a pipeline stage stands for all that do the same. An unfolded run has every GPU of the
  /// job, and shows the rank that the step waits for (observe::rank_to_show). Imperfections and stragglers are always
  /// simulated unfolded.
  bool unfolded = false;
  /// The traffic of an unfolded step. The default is flows when `unfolded` is set or links are imperfect.
  std::optional<ranks::Traffic> traffic = std::nullopt;

  /// Set it false where no trace or chart needs the tasks of the run. A folded run of whole passes then builds no graph
  /// and gives the same numbers several times as fast.
  bool keeps_tasks = true;

  bool advice = false;            ///< for a job that does not fit: simulates up to 31 changes of it
  bool forward_only = false;      ///< also the time of an evaluation step
  Delays delays = Delays::kNone;  ///< for slow hardware: runs the step again without it, once or at most 14 times
  /// With it the step is the headline, which includes the bias of runs like it, and has an interval. Without it the
  /// step is the simulated one.
  std::optional<IntervalQuestion> interval = std::nullopt;
};

/// Returns `how` with all defaults filled in. Throws ConfigError when the job cannot be run this way.
[[nodiscard]] How resolved(How how, const job::Job& job);

/// Everything that one run produced. It can be moved but not copied: `step` points into its own passes.
struct Prediction {
  job::Job job;
  job::Notes notes;        ///< of making the job; `metrics` adds the notes of the run
  How how;                 ///< resolved, without the optional parts
  step::LoweredStep step;  ///< without How::keeps_tasks its workload may be empty, and so may be the tasks of `run`
  des::RunResult run;
  observe::Observations observations;
  observe::Waits waits;
  PerStage<observe::StageTimeline> memory;  ///< without How::keeps_tasks it may have no points
  report::Metrics metrics;                  ///< complete: no caller adds to it
};

/// Predicts one step of a job. The run of its tasks shows its progress to `watch`, and cannot be stopped.
[[nodiscard]] Prediction predict(job::Made made, const How& how = {}, const Watch& watch = {});

/// Returns only the step time of predict().
[[nodiscard]] Seconds step_time(const job::Job& job, const How& how);
/// Returns the same for a lowered step. Imperfections and stragglers do not change a lowered step, so jobs that differ
/// only in them share it.
[[nodiscard]] Seconds step_time(const step::LoweredStep& step, const job::Job& job, const How& how);

}  // namespace foretoken::study

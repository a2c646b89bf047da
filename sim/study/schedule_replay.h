// Replays a pipeline schedule with given times, without a model or a cluster.
#pragma once

#include <map>

#include "sim/des/engine.h"
#include "sim/schedule/schedule.h"
#include "sim/step/workload.h"

namespace foretoken::study {

/// The times of one pass of each chunk, and of one message.
struct ReplayTimes {
  std::map<schedule::OpKind, Table<Chunk, des::Duration>> passes;
  des::Duration message;
  bool blocking = false;  ///< sender and receiver wait for a message; otherwise it only delays its receiver
};

/// A replayed program and its figures.
struct Replay {
  step::Workload workload;
  des::RunResult run;
  des::Duration pipeline;                        ///< T: from the first forward's start to the last backward's end
  des::Duration work;                            ///< W: the largest computing time of a stage
  [[nodiscard]] double bubble_fraction() const;  ///< (T - W) / W
  [[nodiscard]] double bubble_fraction_of_step() const;  ///< (T - W) / T
};

/// Runs `program`. Precondition: `times` has every kind of pass and every chunk of it. A deadlock, possible with
/// blocking messages, fills Replay::run.stuck and leaves the figures zero.
[[nodiscard]] Replay replay(const schedule::Program& program, const ReplayTimes& times);

/// Returns the mean time of a step in the steady state of steps that overlap, on stage 0: schedule::steady_program() or
/// schedule::repeated() without updates. `shape` counts one step.
[[nodiscard]] des::Duration steady_step(const schedule::Program& steps, schedule::PipelineShape shape,
                                        const ReplayTimes& times);

}  // namespace foretoken::study

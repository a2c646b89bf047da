// A pipeline schedule replayed with given times, without a model or a cluster.
#pragma once

#include <map>

#include "sim/des/engine.h"
#include "sim/schedule/program.h"
#include "sim/step/workload.h"

namespace foretoken::study {

/// Times of one pass of one chunk, by chunk, and of one message.
struct ReplayTimes {
  std::map<schedule::OpKind, Table<Chunk, des::Duration>> passes;
  des::Duration message;
  bool blocking = false;  ///< sender and receiver wait for a message; otherwise it only delays its receiver
};

/// A replayed program and what it says.
struct Replay {
  step::Workload workload;
  des::RunResult run;
  des::Duration pipeline;                        ///< T: from the first forward's start to the last backward's end
  des::Duration work;                            ///< W: the largest time that a stage computes
  [[nodiscard]] double bubble_fraction() const;  ///< (T - W) / W
  [[nodiscard]] double bubble_fraction_of_step() const;  ///< (T - W) / T
};

/// Runs `program`, of whose passes `times` knows every kind and chunk. A deadlock (blocking messages of a program
/// that no runtime issues) leaves Replay::run.stuck filled and the figures zero.
[[nodiscard]] Replay replay(const schedule::Program& program, const ReplayTimes& times);

}  // namespace foretoken::study

// Measures the busy time of each pipeline stage in a run, and splits the time of the busiest one.
#pragma once

#include <span>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/lower.h"

namespace foretoken::observe {

/// The passes of one stage.
struct StageActivity {
  des::Instant first_forward_start, last_backward_end;
  des::Duration busy;  ///< kernels, communication and the host inside passes
};

/// A time split into parts that add up to the whole. Compute comes before communication, and communication before
/// waiting: an instant with several counts once, for the first.
template <class Time>
struct TimeSplit {
  Time compute{};
  PerAxis<Time> comm;  ///< communication over each axis
  Time optimizer{}, bubble{}, host{}, other{};
  Time offload{};  ///< waiting for copies between a GPU and its host, and for the update there
};
using StageSplit = TimeSplit<des::Duration>;

/// The observed times of a step. Without a flush it is the mean step of the steady state: the passes of each stage
/// count from the first forward pass of one step to that of a later one, and both ends of StageActivity from there.
struct Observations {
  des::Duration makespan;
  Table<Stage, StageActivity> stages;
  Stage busiest_stage = {};  ///< most busy time, lowest on a tie
  StageSplit busiest;
};

/// Joins a run with the meaning of its tasks. `stretch` is the time that slow GPUs and imbalanced experts added to each
/// task, which counts as computing; empty when there is none.
[[nodiscard]] Observations observe_stages(const step::LoweredStep& step, const des::RunResult& run,
                                          std::span<const des::Duration> stretch = {});

/// Splits the time of one stage of a run that has its tasks; `stretch` as above.
[[nodiscard]] StageSplit split_of(Stage stage, const step::LoweredStep& step, const des::RunResult& run,
                                  std::span<const des::Duration> stretch = {});

}  // namespace foretoken::observe

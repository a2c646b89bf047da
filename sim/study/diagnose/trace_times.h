// Compares a recorded trace of one GPU with the predicted step: time by kind of kernel, idle gaps, and communication
// that nothing hides.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/trace/gpu_trace.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// A kind of kernel in one step.
struct WorkTime {
  io::trace::Work work = io::trace::Work::kOther;
  std::size_t kernels = 0;           ///< a step
  Seconds measured;                  ///< sum of their times
  std::optional<Seconds> predicted;  ///< with a scenario: of the GPU of the trace's stage
};

/// A kernel name with much time.
struct TopKernel {
  std::string name;
  io::trace::Work work = io::trace::Work::kOther;
  std::size_t kernels = 0;
  Seconds time;
};

/// One step of the trace in numbers. Times are means over its steps.
struct TraceTimes {
  std::size_t steps = 1;
  bool steps_are_marked = false;  ///< by ProfilerStep; otherwise all of the trace counts as one step
  Seconds step;
  Seconds computing;      ///< at least one kernel that is no communication
  Seconds exposed;        ///< communication beside which nothing computes
  Seconds communicating;  ///< at least one kernel of communication
  Seconds idle;           ///< no kernel
  std::size_t gaps = 0;   ///< idle times of at least ten microseconds, a step
  Seconds longest_gap;
  std::vector<WorkTime> works;   ///< most time first
  std::vector<TopKernel> other;  ///< at most five kernels of no known kind, most time first
};

/// Measures a trace. Only whole marked steps count, the first of several not: it may include the profiler's start.
[[nodiscard]] TraceTimes trace_times(const io::trace::GpuTrace& trace);

/// Times that a prediction states for the GPU of a trace.
struct PredictedTimes {
  Stage stage = {};
  int layers = 0;  ///< of the stage
  int microbatches = 0;
  std::array<std::optional<Seconds>, io::trace::kWorks> works;
  Seconds step, exposed;
};

/// Returns the predicted times of the stage of the trace's rank; of the busiest stage where the trace names no rank of
/// the job.
[[nodiscard]] PredictedTimes predicted_times(const Prediction& prediction, const io::trace::GpuTrace& trace);

}  // namespace foretoken::study

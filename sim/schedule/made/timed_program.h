// Times of passes and messages, and the times at which a program runs with them.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/base/table.h"
#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Picoseconds of the passes of one stage over one micro-batch, with one chunk a stage.
struct StageTimes {
  std::int64_t forward = 0, input = 0, weight = 0;
  std::int64_t whole_backward = 0;  ///< zero: both parts together
  [[nodiscard]] std::int64_t backward() const { return whole_backward > 0 ? whole_backward : input + weight; }
  [[nodiscard]] std::int64_t of(OpKind kind) const;
};

/// Times of all stages. A message delays its receiver and blocks nobody.
struct PipelineTimes {
  Table<Stage, StageTimes> stages;
  std::int64_t message = 0;
};

/// When the passes of a program run.
struct ProgramTimes {
  std::int64_t makespan = 0;      ///< from the start to the end of the last pass
  std::int64_t longest_span = 0;  ///< the longest time of one stage from its first pass to the end of its last
};

/// Returns the times of a program of one chunk a stage; nothing when it deadlocks.
[[nodiscard]] std::optional<ProgramTimes> times_of(const Program& program, const PipelineTimes& times);

}  // namespace foretoken::schedule

// Adds up the bytes that each group of ranks exchanges in a step, and the time that the pipeline waits for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/placement.h"
#include "sim/observe/stage_times.h"
#include "sim/step/lower.h"

namespace foretoken::observe {

/// Operations of one kind.
struct Traffic {
  std::string_view what;        ///< "parameters: all-gathers"
  std::int64_t operations = 0;  ///< collectives, or messages sent and received
  Bytes payload{};              ///< sum of their sizes, as nccl-tests counts sizes
  Seconds time{};               ///< sum of their times
};

/// All operations of one kind of group over a step, for one GPU of the busiest stage.
struct GroupTraffic : Traffic {
  std::string group;  ///< "tensor-parallel"
  GroupShape shape;
  NodeLinks links;             ///< the links that the group uses
  Seconds exposed;             ///< time in which the stage does nothing else
  std::vector<Traffic> parts;  ///< the kinds of operations, where there are several
  /// Returns the rest of the time. Less than a picosecond of the clock is rounding and counts as 0.
  [[nodiscard]] Seconds hidden() const {
    const Seconds rest = time - exposed;
    return rest > Seconds(1e-12) ? rest : Seconds(0);
  }
};

/// Returns the groups with more than one rank, in the order of axes, and "host" for the copies of a job that offloads.
[[nodiscard]] std::vector<GroupTraffic> communication(const step::LoweredStep& step, const des::RunResult& run,
                                                      const Observations& observed);

}  // namespace foretoken::observe

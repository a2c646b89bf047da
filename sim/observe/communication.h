// What each group of ranks exchanges in a step, and how much of it the pipeline waits for.
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
  Bytes payload{};              ///< their sizes added up, as nccl-tests counts sizes
  Seconds time{};               ///< how long they take, added up
};

/// One kind of group, seen from one GPU of the busiest stage, over a step.
struct GroupTraffic : Traffic {  ///< all of its operations
  std::string group;             ///< "tensor-parallel"
  GroupShape shape;
  NodeLinks links;             ///< as it finds them in a node
  Seconds exposed;             ///< the part of the step in which the stage does nothing else
  std::vector<Traffic> parts;  ///< what the sum is made of, where it is of several kinds
  /// The rest; less than the clock's picosecond is rounding of the sum.
  [[nodiscard]] Seconds hidden() const {
    const Seconds rest = time - exposed;
    return rest > Seconds(1e-12) ? rest : Seconds(0);
  }
};

/// Groups with more than one rank, in the order of axes.
[[nodiscard]] std::vector<GroupTraffic> communication(const step::LoweredStep& step, const des::RunResult& run,
                                                      const Observations& seen);

}  // namespace foretoken::observe

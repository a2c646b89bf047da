// What slow hardware does to a run of every GPU: how long the critical path runs through it.
#pragma once

#include <map>

#include "sim/des/engine.h"
#include "sim/lowering/unfold.h"

namespace foretoken::observe {

/// Time on the critical path of tasks that slow hardware carries out.
struct Waits {
  std::map<int, des::Duration> by_gpu;   ///< of passes and optimizers, by the slowest GPU of those that carry them out
  std::map<int, des::Duration> by_link;  ///< of flows that move, by place among the scenario's slow links
};

/// Empty for even hardware.
[[nodiscard]] Waits waits_of(const lowering::UnfoldedStep& unfolded, const des::RunResult& run);

}  // namespace foretoken::observe

// Slow hardware in a run of every GPU: the time that the critical path spends on it, and the ranks that hold it.
#pragma once

#include <map>

#include "sim/des/engine.h"
#include "sim/job/imperfections.h"
#include "sim/ranks/unfold.h"

namespace foretoken::observe {

/// Time on the critical path of tasks that slow hardware carries out.
struct Waits {
  std::map<int, des::Duration> by_gpu;   ///< of passes and optimizers, by the slowest GPU of those that carry them out
  std::map<int, des::Duration> by_link;  ///< of flows that move, by place among the scenario's slow links
  /// Both of the above by stage rank. A pass counts for the rank with the slow GPU. A flow counts for the rank of its
  /// replica beside the slow link, or else for the first. Collectives over all replicas count for no rank.
  std::map<StageRank, des::Duration> by_stage_rank;
};

/// Empty for even hardware.
[[nodiscard]] Waits waits_of(const ranks::UnfoldedStep& unfolded, const job::Imperfections& imperfections,
                             const des::RunResult& run);

/// The stage rank to show: first the replica that holds the critical path longest, then the rank of it that does so.
/// The rank whose work ends last, where the path waits for nothing slow. The lowest on a tie.
[[nodiscard]] StageRank rank_to_show(const Waits& waits, const ranks::UnfoldedStep& unfolded,
                                     const des::RunResult& run);

}  // namespace foretoken::observe

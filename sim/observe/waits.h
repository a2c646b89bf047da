// What slow hardware does to a run of every GPU: how long the critical path runs through it, and on which ranks.
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
  /// Both by stage rank: the one that holds the slow GPU, and of a flow, among those of the replica that moves it, the
  /// one beside the slow link, or else the first; what all replicas do together is in none.
  std::map<int, des::Duration> by_stage_rank;
};

/// Empty for even hardware.
[[nodiscard]] Waits waits_of(const ranks::UnfoldedStep& unfolded, const job::Imperfections& imperfections,
                             const des::RunResult& run);

/// The stage rank to look at: of the replica whose slow hardware holds the critical path longest, the rank that does so
/// longest; the one whose work ends last where nothing slow is waited for. The lowest on a tie.
[[nodiscard]] int rank_to_show(const Waits& waits, const ranks::UnfoldedStep& unfolded, const des::RunResult& run);

}  // namespace foretoken::observe

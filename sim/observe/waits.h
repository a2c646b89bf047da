// Measures the time that the critical path of an unfolded run spends on slow hardware, and the ranks that hold it.
#pragma once

#include <map>

#include "sim/des/engine.h"
#include "sim/job/imperfections.h"
#include "sim/ranks/unfold.h"

namespace foretoken::observe {

/// The time on the critical path of tasks that slow hardware carries out.
struct Waits {
  std::map<Gpu, des::Duration> by_gpu;              ///< passes and optimizers, by the slowest GPU that carries them out
  std::map<int, des::Duration> by_link;             ///< flows, by place among the scenario's slow links
  std::map<std::size_t, des::Duration> by_experts;  ///< passes, by place among the scenario's imbalanced experts
  /// Passes and flows by stage rank. A pass counts for the rank with the slow GPU, or else for the first rank of the
  /// expert group that it waits for. A flow counts for the rank beside the slow link, or else for the first rank of its
  /// replica. Collectives over all replicas count for no rank.
  std::map<StageRank, des::Duration> by_stage_rank;
};

/// Returns the waits of a run; empty when all hardware is equally fast.
[[nodiscard]] Waits waits_of(const ranks::UnfoldedStep& unfolded, const job::Imperfections& imperfections,
                             const des::RunResult& run);

/// Returns the stage rank to show. It is in the replica that holds the critical path longest, and holds it longest
/// there. Where the path waits for nothing slow, it is ranks::last_rank(). The lowest rank wins a tie.
[[nodiscard]] StageRank rank_to_show(const Waits& waits, const ranks::UnfoldedStep& unfolded,
                                     const des::RunResult& run);

}  // namespace foretoken::observe

// How slow GPUs stretch the tasks that they take part in.
#pragma once

#include <span>
#include <vector>

#include "sim/lowering/workload.h"

namespace foretoken::lowering {

/// An instance of a task and the rank that it waits for: the slowest of those that carry it out.
struct Paced {
  des::Duration duration;
  int rank = -1;  ///< of the job; -1: none is slower than the typical one, or nothing is computed
};

class Speeds {
 public:
  explicit Speeds(const Scenario& scenario);

  /// Whether any GPU differs from another, or a pass from the next.
  [[nodiscard]] bool uneven() const { return !slowdown_.empty(); }

  /// The duration of an instance of a folded task when carried out by stage ranks `members`: what it computes takes as
  /// long as on the slowest of them, the rest stays. (Where communication hides behind kernels, less than all of the
  /// slowdown can show; a pass counts each instant once, compute first.)
  [[nodiscard]] Paced paced(des::Duration duration, const Meaning& meaning, const Passes& passes,
                            std::span<const int> members) const;

 private:
  const Scenario& scenario_;
  int ranks_a_stage_;
  std::vector<double> slowdown_;  // by rank; empty: all as they should be
};

}  // namespace foretoken::lowering

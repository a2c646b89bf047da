// Slow GPUs stretch the tasks that they take part in.
#pragma once

#include <span>
#include <vector>

#include "sim/step/workload.h"

namespace foretoken::ranks {

/// An instance of a task and the rank that it waits for: the slowest of those that carry it out.
struct Paced {
  des::Duration duration;
  int rank = -1;  ///< of the job; -1: none is slower than the typical one, or nothing is computed
};

class Speeds {
 public:
  explicit Speeds(const job::Job& job);

  /// Whether any GPU differs from another, or a pass from the next.
  [[nodiscard]] bool uneven() const { return !slowdown_.empty(); }

  /// The duration of an instance of a folded task when carried out by stage ranks `members`: what it computes takes as
  /// long as on the slowest of them, the rest stays. (Where communication hides behind kernels, less than all of the
  /// slowdown can show; a pass counts each instant once, compute first.)
  [[nodiscard]] Paced paced(des::Duration duration, const step::Meaning& meaning, const step::Passes& passes,
                            std::span<const int> members) const;

 private:
  const job::Job& job_;
  int ranks_a_stage_;
  std::vector<double> slowdown_;  // by rank; empty: all as they should be
};

}  // namespace foretoken::ranks

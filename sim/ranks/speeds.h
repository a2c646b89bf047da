// Slow GPUs stretch the tasks that they take part in.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/step/workload.h"

namespace foretoken::ranks {

/// An instance of a task and the rank that it waits for: the slowest of those that carry it out.
struct Paced {
  des::Duration duration;
  std::optional<Rank> rank = std::nullopt;  ///< none: no member is slower than the typical GPU, or nothing is computed
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
                            std::span<const StageRank> members) const;

 private:
  const job::Job& job_;
  int ranks_a_stage_;
  Table<Rank, double> slowdown_;  // empty: all as they should be
};

}  // namespace foretoken::ranks

// Stretches the tasks that slow GPUs take part in.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/step/workload.h"

namespace foretoken::ranks {

/// The duration of an instance of a task, and the rank that it waits for: the slowest rank that carries it out.
struct Paced {
  des::Duration duration;
  std::optional<Rank> rank = std::nullopt;  ///< none: no member is slower than the typical GPU, or nothing is computed
};

class Speeds {
 public:
  explicit Speeds(const job::Job& job);

  /// Returns true when any GPU differs from another, or a pass from the next.
  [[nodiscard]] bool uneven() const { return !slowdown_.empty(); }

  /// Returns the duration of an instance of a folded task that stage ranks `members` carry out. Its computing takes as
  /// long as on the slowest of them; the rest stays. Where communication hides behind kernels, less than the whole
  /// slowdown can show. A pass counts each instant once, compute first.
  [[nodiscard]] Paced paced(des::Duration duration, const step::Meaning& meaning, const step::Passes& passes,
                            std::span<const StageRank> members) const;

 private:
  const job::Job& job_;
  int ranks_a_stage_;
  Table<Rank, double> slowdown_;  // empty: all GPUs are equally fast
};

}  // namespace foretoken::ranks

// Finds overlaps that cost more than they hide.
#pragma once

#include <string>
#include <vector>

#include "sim/base/process/watch.h"
#include "sim/job/job.h"
#include "sim/job/patch.h"

namespace foretoken::study {

/// An overlap without which the step is shorter.
struct CostlyOverlap {
  job::Key key;
  Seconds without;  ///< step time
};

/// Simulates `job` without each of its overlaps in turn. Returns those without which the step is shorter than `step` by
/// 0.1 % or more, the largest gain first. All times are times `bias_factor` (report::Metrics).
[[nodiscard]] std::vector<CostlyOverlap> costly_overlaps(const job::Job& job, Seconds step, double bias_factor,
                                                         const Watch& watch = {});

/// Says what an overlap costs and how to leave it out.
[[nodiscard]] std::string costly_words(const CostlyOverlap& overlap, Seconds step);

}  // namespace foretoken::study

// How well predictions tell two runs of one job apart.
#pragma once

#include <string>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// By how much the predicted ratio of two step times of one job misses the measured one.
struct Difference {
  double half = 0, nine_in_ten = 0;  ///< so many pairs are missed by less than this, as a part of the step time
  double comparisons = 0;            ///< independent ones that this is worth; 0: nobody published any
  int runs = 0, jobs = 0;            ///< published runs, and the jobs that they are of
  std::string where;                 ///< "on H100 with this runtime": which runs these are
};

/// Over pairs of cases of one job (the same model size, GPUs and software; they differ in degrees, micro-batch,
/// schedule, recomputation or batch): weighted quantiles of |log ratio of one - log ratio of the other|. What both runs
/// of a pair are missed by alike falls out. A pair weighs as its cases over their number in the job, so that n cases of
/// weight 1 are worth n - 1 comparisons.
/// Cases are those of the GPU kind, runtime and width of elements of `place`; where they are worth fewer than five
/// comparisons (nine in ten of fewer say nothing), those on its kind of GPU; then all. `where` tells which.
/// Runs that a number of their runtime was fitted on count like others.
/// Holds for: configurations as different as those that were published.
[[nodiscard]] Difference difference_at(const Place& place, const Evidence& evidence);

}  // namespace foretoken::trust

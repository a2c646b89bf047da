// Errors of the predicted difference between two runs of one job.
#pragma once

#include <string>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// The error of the predicted ratio of two step times of one job, against the measured ratio.
struct Difference {
  double half = 0,
         nine_in_ten = 0;  ///< half (nine in ten) of the pairs have a smaller error, as a part of the step time
  double comparisons = 0;  ///< independent comparisons that this is worth; 0: nobody published any
  int runs = 0, jobs = 0;  ///< published runs, and their jobs
  std::string where;       ///< the runs: "on H100 with this runtime"
};

/// Returns weighted quantiles of |log ratio of one - log ratio of the other| over pairs of cases of one job. A job is
/// one model size, GPUs and software. Its runs differ in degrees, micro-batch, schedule, recomputation or batch. An
/// error that both runs of a pair share cancels. A pair weighs as its cases over their number in the job, so n cases of
/// weight 1 are worth n - 1 comparisons.
///
/// The cases share the GPU kind, runtime and width of elements of `place`. Where they are worth fewer than five
/// comparisons, all cases on its kind of GPU count, and then all cases: nine in ten of fewer than five say nothing.
/// `where` names the cases. Runs that a number of their runtime was fitted on count like others.
///
/// Holds for: configurations as different as the published ones.
[[nodiscard]] Difference difference_at(const Place& place, const Evidence& evidence);

}  // namespace foretoken::trust

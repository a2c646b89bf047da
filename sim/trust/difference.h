// How well predictions tell two runs of one job apart.
#pragma once

#include <cstddef>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// By how much the predicted ratio of two step times of one job misses the measured one.
struct Difference {
  double half = 0, nine_in_ten = 0;  ///< so many pairs are missed by less than this, as a part of the step time
  std::size_t pairs = 0;             ///< of cases that this rests on
};

/// Over pairs of cases at one place (the same model size, GPUs and software; they differ in degrees, micro-batch,
/// schedule, recomputation or batch): weighted quantiles of |log ratio of one - log ratio of the other|. A pair weighs
/// as its cases over the number of cases at its place, so that n cases count like n - 1 differences. What both runs of
/// a pair are missed by alike falls out.
/// Holds for: configurations as different as those that were published; most pairs are of two sweeps on A100.
[[nodiscard]] Difference difference_of_pairs(const Evidence& evidence);

}  // namespace foretoken::trust

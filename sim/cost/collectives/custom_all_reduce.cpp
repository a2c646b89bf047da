// Computes the time of one-kernel all-reduces.
#include "sim/cost/collectives/custom_all_reduce.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::cost {

Seconds custom_all_reduce_time(Bytes payload, int ranks, const std::vector<CustomAllReduceLaw>& laws) {
  expects(ranks >= 1 && !laws.empty(), "a custom all-reduce has ranks and a law");
  if (ranks == 1) return Seconds(0);
  const auto found = std::find_if(laws.begin(), laws.end(), [&](const auto& law) { return law.ranks >= ranks; });
  const CustomAllReduceLaw& law = found == laws.end() ? laws.back() : *found;
  const Bytes sent = 2 * (1 - 1.0 / ranks) * payload;
  return size_factor(law.correction, payload) * (law.latency + sent / law.bandwidth);
}

}  // namespace foretoken::cost

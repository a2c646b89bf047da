// Fits the constants of memory-bound kernels by downhill simplex. The objective calls the function that predictions
// use.
#include "calibration/fit/laws/fit_memory_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {

void fit_memory_bound(cost::Profile& profile, const measured::Samples& samples) {
  std::vector<measured::KernelSample> fitted, left_out;
  for (const auto& sample : samples.kernels) {
    const bool quantises = sample.kernel == "cast" || sample.kernel == "scan";
    if (!sample.cold || quantises || sample.bytes.value() <= 0) continue;
    const std::string key = fmt::format("{} {} {}", sample.kernel, sample.rows, sample.columns);
    (held_out(key) ? left_out : fitted).push_back(sample);
  }
  if (fitted.empty()) return;
  const auto law_of = [&](const Arguments& at) {
    cost::MemoryBoundLaw law = profile.memory_bound;
    law.efficiency = rounded(std::min(1.0, std::exp(at[0])));
    law.launch = Seconds(rounded(std::exp(at[1])));
    return law;
  };
  const auto outcomes_of = [&](const std::vector<measured::KernelSample>& kernels, const Arguments& at) {
    cost::Profile tried;
    tried.memory_bound = law_of(at);
    std::vector<Outcome> all;
    for (const auto& kernel : kernels)
      all.push_back({cost::memory_bound_time({kernel.bytes}, tried).value(), kernel.time.median.value()});
    return all;
  };
  const Arguments best = minimise([&](const Arguments& at) { return mean_log_error(outcomes_of(fitted, at)); },
                                  {std::log(0.8), std::log(2e-6)}, 0.3);
  profile.memory_bound = law_of(best);
  profile.memory_bound.evidence =
      evidence(source_of(samples, samples.kernels), fitted.size(), outcomes_of(left_out, best));
  profile.memory_bound.evidence.provenance = provenance_of(samples.kernels);
}

}  // namespace foretoken::fit

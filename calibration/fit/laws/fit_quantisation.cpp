// Fits the law of a cast or a scan: a rate and a launch time by downhill simplex, then a trend over the size. Small
// tensors are faster because they stay in the cache.
#include "calibration/fit/laws/fit_quantisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "calibration/fit/laws/fit_size_correction.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastSizes = 40;

using Kernels = std::vector<measured::From<measured::KernelSample>>;

double seconds_of(Bytes bytes, const cost::MemoryBoundLaw& law) {
  return cost::memory_bound_time({bytes}, {.memory_bound = law}).value();
}

std::vector<Outcome> quantisation_outcomes(const Kernels& kernels, const cost::MemoryBoundLaw& law) {
  std::vector<Outcome> all;
  for (const auto& kernel : kernels) all.push_back({seconds_of(kernel.bytes, law), kernel.time.median.value()});
  return all;
}

cost::SizeCorrection trend_over(const Kernels& kernels, const cost::MemoryBoundLaw& law) {
  std::vector<SizePull> pulls;
  for (const auto& kernel : kernels)
    pulls.push_back({kernel.bytes.value(), std::log(kernel.time.median.value() / seconds_of(kernel.bytes, law))});
  return fit_size_trend(pulls, [&](double bytes) { return seconds_of(Bytes(bytes), law); });
}

/// Fits the law of one kind of kernel. Precondition: some kernels are not held out.
cost::MemoryBoundLaw fit_one(const Kernels& kernels, BytesPerSecond bandwidth, const measured::Samples& samples) {
  Kernels fitted, left_out;
  for (const auto& kernel : kernels)
    (held_out(fmt::format("{} {}", kernel.rows, kernel.columns)) ? left_out : fitted).push_back(kernel);
  const auto law_of = [&](const Arguments& at) {
    return cost::MemoryBoundLaw{.bandwidth = bandwidth,
                                .efficiency = rounded(std::min(1.0, std::exp(at[0]))),
                                .launch = Seconds(rounded(std::exp(at[1])))};
  };
  const Objective objective = [&](const Arguments& at) {
    return mean_log_error(quantisation_outcomes(fitted, law_of(at)));
  };
  cost::MemoryBoundLaw law = law_of(minimise(objective, {std::log(0.6), std::log(3e-6)}, 0.3));
  law.correction = trend_over(fitted, law);
  law.evidence = evidence(source_of(samples, kernels), fitted.size(), quantisation_outcomes(left_out, law));
  law.evidence.provenance = provenance_of(kernels);
  return law;
}

Kernels named(const measured::Samples& samples, std::string_view name) {
  Kernels some;
  for (const auto& kernel : samples.kernels)
    if (kernel.kernel == name) some.push_back(kernel);
  return some;
}

}  // namespace

void fit_quantisation(cost::Profile& profile, const measured::Samples& samples) {
  const Kernels casts = named(samples, "cast"), scans = named(samples, "scan");
  if (casts.size() < kLeastSizes || scans.size() < kLeastSizes) return;
  const BytesPerSecond bandwidth = profile.memory_bound.bandwidth;
  profile.quantisation = {.cast = fit_one(casts, bandwidth, samples), .scan = fit_one(scans, bandwidth, samples)};
}

Seconds quantisation_of(const measured::GemmSample& sample, const cost::Profile& profile) {
  if (!sample.with_quantisation) return Seconds(0);
  const GemmShape& s = sample.shape;
  const double elements = static_cast<double>(s.m) * static_cast<double>(s.k) * static_cast<double>(s.batch);
  const bool one_scale = s.precision == Precision::kFp8 || s.precision == Precision::kInt8;
  return cost::quantisation_time({.elements = elements, .to = s.precision, .finds_scale = one_scale}, profile);
}

}  // namespace foretoken::fit

// Fits the few constants of each law by downhill simplex over the function that predictions call.
#include "calibration/fit/laws/fit_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastEachWay = 6;

struct Kernel {
  AttentionShape shape;
  double seconds;
};

std::string key_of(const AttentionShape& s) {
  return fmt::format("{} {} {} {} {} {} {}", s.batch, s.heads, s.q_length, s.kv_length, s.head_dim, s.causal,
                     s.backward);
}

std::vector<Outcome> outcomes(const std::vector<Kernel>& kernels, const cost::Profile& profile) {
  std::vector<Outcome> all;
  for (const Kernel& kernel : kernels)
    all.push_back({cost::attention_time(kernel.shape, profile).value(), kernel.seconds});
  return all;
}

cost::AttentionRate rate_of(const Arguments& at) {
  return {FlopPerSecond(rounded(std::exp(at[0]))), rounded(std::exp(at[1])), rounded(std::exp(at[2])),
          sharpness_at(at[3])};
}

/// Fits the law of one head dimension and mask, in a profile that holds no other law.
cost::AttentionLaw fit_law(cost::AttentionLaw law, const cost::AttentionLaws& frame, const std::vector<Kernel>& kernels,
                           const std::string& source) {
  std::vector<Kernel> left_out;
  std::size_t count = 0;
  cost::Profile tried;
  tried.attention = frame;
  tried.attention.laws = {law, law};
  tried.attention.laws[1].causal = !law.causal;
  for (const bool backward : {false, true}) {
    std::vector<Kernel> fitted;
    for (const Kernel& kernel : kernels)
      if (kernel.shape.backward == backward) (held_out(key_of(kernel.shape)) ? left_out : fitted).push_back(kernel);
    count += fitted.size();
    double fastest = 1;
    for (const Kernel& kernel : fitted) fastest = std::max(fastest, kernel.shape.flop().value() / kernel.seconds);
    const auto rate = [backward](cost::AttentionLaw& l) -> cost::AttentionRate& {
      return backward ? l.backward : l.forward;
    };
    const Objective objective = [&](const Arguments& at) {
      for (cost::AttentionLaw& l : tried.attention.laws) rate(l) = rate_of(at);
      return mean_log_error(outcomes(fitted, tried)) + kSharpnessPrice * std::abs(at[3]);
    };
    const Arguments best = minimise(objective, {std::log(1.1 * fastest), std::log(300.0), 0.0, 0.0}, 0.3);
    for (cost::AttentionLaw& l : tried.attention.laws) rate(l) = rate_of(best);
  }
  law = tried.attention.laws.front();
  law.evidence = evidence(source, count, outcomes(left_out, tried));
  return law;
}

}  // namespace

void fit_attention_kernels(cost::Profile& profile, const measured::Samples& samples) {
  std::map<std::pair<int, bool>, std::vector<Kernel>> sorted;
  for (const auto& sample : samples.attention)
    if (sample.implementation != "composed")
      sorted[{static_cast<int>(sample.shape.head_dim), sample.shape.causal}].push_back(
          {sample.shape, sample.time.median.value()});
  for (const auto& [which, kernels] : sorted) {
    const auto back = static_cast<std::size_t>(
        std::count_if(kernels.begin(), kernels.end(), [](const Kernel& kernel) { return kernel.shape.backward; }));
    if (back < kLeastEachWay || kernels.size() - back < kLeastEachWay) continue;
    cost::AttentionLaw law = fit_law({.head_dim = which.first, .causal = which.second}, profile.attention, kernels,
                                     source_of(samples, samples.attention));
    law.evidence.provenance = provenance_of(samples.attention);
    auto& laws = profile.attention.laws;
    laws.erase(std::remove_if(laws.begin(), laws.end(),
                              [&](const auto& l) { return l.head_dim == law.head_dim && l.causal == law.causal; }),
               laws.end());
    laws.push_back(law);
  }
}

void fit_memory_bound(cost::Profile& profile, const measured::Samples& samples) {
  std::vector<measured::KernelSample> fitted, left_out;
  for (const auto& sample : samples.kernels) {
    if (!sample.cold || sample.bytes.value() <= 0) continue;
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

void fit_host(cost::Profile& profile, const measured::Samples& samples) {
  std::vector<measured::From<measured::HostSample>> launches;
  std::vector<double> seconds;
  for (const auto& sample : samples.host) {
    if (sample.what != "launch") continue;
    launches.push_back(sample);
    seconds.push_back(sample.time.median.value());
  }
  if (seconds.empty()) return;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  profile.host = cost::HostLaw{.launch = Seconds(rounded(*middle)),
                               .evidence = evidence(source_of(samples, launches), seconds.size(), {})};
  profile.host->evidence.provenance = provenance_of(launches);
}

}  // namespace foretoken::fit

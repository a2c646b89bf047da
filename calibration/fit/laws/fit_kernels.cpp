// Fits the constants of attention, memory-bound kernels and the host by downhill simplex. The objective calls the
// functions that predictions use.
#include "calibration/fit/laws/fit_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/attention.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastEachWay = 6, kLeastForward = 30, kMostKernels = 1500;
constexpr std::int64_t kShortest = 512;  // tokens; shorter kernels measure the launches of a harness
// Launch of the kernel that writes keys and values into a cache. The tables show 7 to 13 us at one token.
constexpr Seconds kLaunchBeside(8e-6);

struct Kernel {
  AttentionShape shape;
  double seconds;  ///< without the kernel that writes the cache
};

/// Kernels with equal keys share one law.
struct LawKey {
  bool narrow = false;
  int head_dim = 128;
  bool causal = true;
  friend auto operator<=>(const LawKey&, const LawKey&) = default;
};

struct Direction {
  cost::AttentionRate rate{};
  std::vector<Outcome> left_out{};
  std::size_t fitted = 0;
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

/// Returns a profile with one law for both masks and all widths.
cost::Profile profile_of(const cost::AttentionLaw& law, const cost::AttentionLaws& frame) {
  cost::Profile profile;
  profile.attention = frame;
  profile.attention.laws = {law, law};
  profile.attention.laws[1].causal = !law.causal;
  profile.attention.fp8.clear();
  profile.attention.sustained_factor = 1;
  return profile;
}

Direction fit_kernels_one_way(cost::AttentionLaw law, const cost::AttentionLaws& frame,
                              const std::vector<Kernel>& kernels, bool backward) {
  std::vector<Kernel> fitted, left_out, some;
  double fastest = 1;
  for (const Kernel& kernel : kernels)
    if (kernel.shape.backward == backward) (held_out(key_of(kernel.shape)) ? left_out : fitted).push_back(kernel);
  const std::size_t step = 1 + fitted.size() / kMostKernels;
  for (std::size_t i = 0; i < fitted.size(); i += step) some.push_back(fitted[i]);
  for (const Kernel& kernel : fitted) fastest = std::max(fastest, kernel.shape.flop().value() / kernel.seconds);
  const auto with = [&](const cost::AttentionRate& rate) {
    (backward ? law.backward : law.forward) = rate;
    return profile_of(law, frame);
  };
  const Objective objective = [&](const Arguments& at) {
    return mean_log_error(outcomes(some, with(rate_of(at)))) + kSharpnessPrice * std::abs(at[3]);
  };
  const Arguments best = minimise(objective, {std::log(1.1 * fastest), std::log(300.0), 0.0, 0.0}, 0.3);
  return {rate_of(best), outcomes(left_out, with(rate_of(best))), fitted.size()};
}

/// Fits the number of keys beyond its window that a query still pays for.
double fit_overhang(cost::AttentionLaw law, const cost::AttentionLaws& frame, const std::vector<Kernel>& windowed) {
  const auto overhang = [](const Arguments& at) { return std::round(std::exp(at[0])); };
  const Objective objective = [&](const Arguments& at) {
    law.window_overhang = overhang(at);
    return mean_log_error(outcomes(windowed, profile_of(law, frame)));
  };
  return overhang(minimise(objective, {std::log(150.0)}, 0.5, 200));
}

std::vector<Kernel> part_of(const std::vector<Kernel>& kernels, bool windowed) {
  std::vector<Kernel> some;
  for (const Kernel& kernel : kernels)
    if ((kernel.shape.window > 0) == windowed) some.push_back(kernel);
  return some;
}

/// Returns true when the law was fitted on kernels of this head dimension and mask. A law of another GPU is marked as
/// scaled (lend.cpp), so it never counts. Its backward direction is then measured, although the tables have none.
bool is_own_series(const cost::AttentionLaw& law, const LawKey& key) {
  return !key.narrow && law.head_dim == key.head_dim && law.causal == key.causal &&
         law.evidence.provenance == cost::Provenance::kFitted;
}

/// Fits the law of one head dimension, mask and width. Returns nothing when too few kernels were measured. When only
/// forward kernels were measured, the other direction or its proportion comes from `known`.
std::optional<cost::AttentionLaw> fit_law(const LawKey& key, const cost::AttentionLaws& known,
                                          const std::vector<Kernel>& all, const std::string& source) {
  const std::vector<Kernel> kernels = part_of(all, false);
  const auto back = static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const Kernel& kernel) { return kernel.shape.backward; }));
  const std::size_t forward = kernels.size() - back;
  if (forward < kLeastEachWay || (back < kLeastEachWay && forward < kLeastForward)) return std::nullopt;
  cost::AttentionLaw law{.head_dim = key.head_dim, .causal = key.causal};
  Direction ahead = fit_kernels_one_way(law, known, kernels, false);
  law.forward = ahead.rate;
  if (back >= kLeastEachWay) {
    const Direction behind = fit_kernels_one_way(law, known, kernels, true);
    law.backward = behind.rate;
    ahead.left_out.insert(ahead.left_out.end(), behind.left_out.begin(), behind.left_out.end());
    ahead.fitted += behind.fitted;
  } else {
    const auto [below, above] = cost::nearest_laws(known.laws, key.causal, key.head_dim);
    const cost::AttentionLaw& like = below ? *below : *above;
    law.backward = like.backward;  // its shape over the sequence is not measured
    if (!is_own_series(like, key))
      law.backward.peak = FlopPerSecond(rounded(like.backward.peak / like.forward.peak * law.forward.peak.value()));
  }
  if (const auto windowed = part_of(all, true); windowed.size() >= kLeastForward)
    law.window_overhang = fit_overhang(law, known, windowed);
  law.evidence = evidence(source, ahead.fitted, ahead.left_out);
  if (back < kLeastEachWay) law.evidence.source += "; backward as before or in the proportion of another law";
  return law;
}

}  // namespace

Seconds beside_time(const measured::AttentionSample& sample, const cost::Profile& profile) {
  if (sample.beside.value() <= 0) return Seconds(0);
  const cost::MemoryBoundLaw& law = profile.memory_bound;
  return kLaunchBeside + sample.beside / (law.efficiency * law.bandwidth);
}

void fit_attention_kernels(cost::Profile& profile, const measured::Samples& samples) {
  std::map<LawKey, std::vector<Kernel>> sorted;
  for (const auto& sample : samples.attention) {
    const double seconds = (sample.time.median - beside_time(sample, profile)).value();
    const AttentionShape& shape = sample.shape;
    if (sample.implementation == "composed" || shape.kv_length < kShortest || seconds <= 0) continue;
    const bool narrow = bytes_per_element(shape.precision) < 2;
    sorted[{narrow, static_cast<int>(shape.head_dim), shape.causal}].push_back({shape, seconds});
  }
  const cost::AttentionLaws known = profile.attention;
  for (auto& [key, kernels] : sorted) {
    for (Kernel& kernel : kernels) kernel.shape.precision = Precision::kBf16;  // the fit tries a law under this key
    auto law = fit_law(key, known, kernels, source_of(samples, samples.attention));
    if (!law) continue;
    law->evidence.provenance = provenance_of(samples.attention);
    auto& laws = key.narrow ? profile.attention.fp8 : profile.attention.laws;
    std::erase_if(laws, [&](const auto& l) { return l.head_dim == law->head_dim && l.causal == law->causal; });
    laws.push_back(*law);
  }
}

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

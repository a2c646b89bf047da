// Fits the constants of fused attention by downhill simplex. The objective calls the functions that predictions use.
#include "calibration/fit/laws/fit_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "calibration/fit/laws/attention_tables.h"
#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/attention.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastEachWay = 6, kLeastForward = 30, kMostKernels = 1500;
// Kernels from which on a fit moves more constants, nine at most. Each has thirty kernels then.
constexpr std::size_t kLeastForMore = 300;
constexpr std::size_t kLeastInWindows = 120;  // four constants; each has thirty kernels
/// Rows of a thread block: FlashAttention-2, FlashAttention-3 up to head dimension 96 (hopper/tile_size.h of
/// Dao-AILab/flash-attention 07602ad), and FlashAttention-4 with two tiles of 128.
constexpr std::array kBlockRows{128, 192, 256};
constexpr double kMostKnee = 8;          // there the bend is within 2^(1/8) of a corner, 9 %
constexpr std::int64_t kShortest = 512;  // tokens; shorter kernels measure the launches of a harness
struct Kernel {
  AttentionShape shape;
  double seconds;
  CacheWork cached{};  ///< the seconds include it
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
  std::optional<cost::CacheWrite> cache_write{};
  std::vector<Outcome> left_out{};
  std::size_t fitted = 0;
};

/// Returns the work of a sample's cache that a law's own cache write knows. Only vLLM's kernel has a thread block for
/// each token, and TensorRT-LLM rotates queries, too.
CacheWork work_of_law(const measured::AttentionSample& sample) {
  const auto engine = engine_of(sample);
  CacheWork work = cache_work(sample);
  if (engine != cost::InferenceEngine::kVllm) work.full_tokens = 0;
  if (engine != cost::InferenceEngine::kTensorRtLlm) work.queries = Bytes(0);
  return work;
}

/// Precondition: the laws state how fast the cache is written.
std::vector<Outcome> outcomes(const std::vector<Kernel>& kernels, const cost::Profile& profile) {
  const cost::CacheWrite& write = *profile.attention.laws.front().cache_write;
  std::vector<Outcome> all;
  for (const Kernel& kernel : kernels) {
    const Seconds time = cost::attention_time(kernel.shape, profile) + cache_time(kernel.cached, write);
    all.push_back({time.value(), kernel.seconds});
  }
  return all;
}

/// The constants that a fit of one direction moves.
struct Moved {
  bool cached = false;              ///< launch and rate of the kernel that writes keys and values, too
  FittedCacheWrite write{};         ///< more constants of that kernel
  std::optional<int> block_rows{};  ///< waves of thread blocks of these rows, too

  [[nodiscard]] std::size_t of_rate() const { return block_rows ? 6 : 4; }
};

cost::AttentionRate rate_of(const Arguments& at, const Moved& moved) {
  cost::AttentionRate rate{FlopPerSecond(rounded(std::exp(at[0]))), rounded(std::exp(at[1])), rounded(std::exp(at[2])),
                           sharpness_at(at[3])};
  if (moved.block_rows)
    rate.waves = cost::AttentionWaves{.block_rows = *moved.block_rows,
                                      .softness = rounded(1 / (1 + std::exp(-at[4]))),
                                      .knee = rounded(std::clamp(std::exp(at[5]), 1.0, kMostKnee))};
  return rate;
}

bool writes_cache(const std::vector<Kernel>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const Kernel& kernel) { return kernel.cached.bytes.value() > 0; });
}

FittedCacheWrite constants_of_write(const std::vector<Kernel>& kernels) {
  return {
      .by_token = std::ranges::any_of(kernels, [](const Kernel& one) { return one.cached.full_tokens > 0; }),
      .with_queries = std::ranges::any_of(kernels, [](const Kernel& one) { return one.cached.queries.value() > 0; })};
}

/// Kernels that a fit uses, and those that it leaves out.
struct Chosen {
  std::vector<Kernel> fitted{}, left_out{};

  /// Returns at most kMostKernels of the fitted ones, at equal distances.
  [[nodiscard]] std::vector<Kernel> some() const {
    std::vector<Kernel> chosen;
    const std::size_t step = 1 + fitted.size() / kMostKernels;
    for (std::size_t i = 0; i < fitted.size(); i += step) chosen.push_back(fitted[i]);
    return chosen;
  }
};

template <class Belongs>
Chosen choose(const std::vector<Kernel>& kernels, const Belongs& belongs) {
  Chosen chosen;
  for (const Kernel& kernel : kernels)
    if (belongs(kernel)) (held_out(attention_key(kernel.shape)) ? chosen.left_out : chosen.fitted).push_back(kernel);
  return chosen;
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

/// Arguments of a fit, and the value of its objective.
struct Minimum {
  Arguments at{};
  double value = std::numeric_limits<double>::infinity();
};

/// Returns the arguments that meet the kernels best: those of rate_of, and those of the cache write when there is
/// one. Short sequences pay for the cache and long ones for attention, so the descents start from two half lengths.
Minimum best_arguments(const Objective& objective, const std::vector<Kernel>& kernels, const Moved& moved,
                       const cost::CacheWrite& usual) {
  double fastest = 1;
  for (const Kernel& kernel : kernels) {
    const double attention = kernel.seconds - cache_time(kernel.cached, usual).value();
    if (attention > 0) fastest = std::max(fastest, kernel.shape.flop().value() / attention);
  }
  Minimum best;
  for (const double half_length : {300.0, 1200.0}) {
    Arguments start{std::log(1.1 * fastest), std::log(half_length), 0.0, 0.0};
    if (moved.block_rows) start.insert(start.end(), {0.0, 0.3});
    if (moved.cached) moved.write.start(start, usual);
    Arguments found = minimise(objective, start, 0.3, 4000);
    if (const double value = objective(found); value < best.value) best = {std::move(found), value};
  }
  return best;
}

Direction fit_kernels_one_way(cost::AttentionLaw law, const cost::AttentionLaws& frame,
                              const std::vector<Kernel>& kernels, bool backward) {
  const Chosen chosen = choose(kernels, [&](const Kernel& kernel) { return kernel.shape.backward == backward; });
  const std::vector<Kernel> some = chosen.some();
  const cost::CacheWrite usual = *law.cache_write;
  Moved moved{.cached = writes_cache(chosen.fitted), .write = constants_of_write(chosen.fitted)}, best_moved = moved;
  const auto with = [&](const Arguments& at, const Moved& constants) {
    (backward ? law.backward : law.forward) = rate_of(at, constants);
    if (constants.cached) law.cache_write = constants.write.at(at, constants.of_rate());
    return profile_of(law, frame);
  };
  const Objective objective = [&](const Arguments& at) {
    const double prices = std::abs(at[3]) + (moved.block_rows ? std::abs(at[5]) : 0);
    return mean_log_error(outcomes(some, with(at, moved))) + kSharpnessPrice * prices;
  };
  Minimum best;
  const auto try_moved = [&] {
    if (Minimum found = best_arguments(objective, chosen.fitted, moved, usual); found.value < best.value) {
      best = std::move(found);
      best_moved = moved;
    }
  };
  if (law.causal || chosen.fitted.size() < kLeastForMore) {
    try_moved();  // under a causal mask blocks differ and the longest start first, so that no wave shows
  } else {
    for (const int rows : kBlockRows) {
      moved.block_rows = rows;
      try_moved();
    }
  }
  Direction direction{.rate = rate_of(best.at, best_moved),
                      .left_out = outcomes(chosen.left_out, with(best.at, best_moved)),
                      .fitted = chosen.fitted.size()};
  if (best_moved.cached) direction.cache_write = best_moved.write.at(best.at, best_moved.of_rate());
  return direction;
}

/// Fits the number of keys beyond its window that a query still pays for. From kLeastInWindows kernels on it also fits
/// their cache write: they may be another engine's than those without a window.
void fit_windows(cost::AttentionLaw& law, const cost::AttentionLaws& frame, const std::vector<Kernel>& windowed) {
  const Chosen chosen = choose(windowed, [](const Kernel&) { return true; });
  const std::vector<Kernel> some = chosen.some();
  const bool cached = chosen.fitted.size() >= kLeastInWindows && writes_cache(some);
  const FittedCacheWrite write = constants_of_write(some);
  const auto with = [&](const Arguments& at) {
    cost::AttentionLaw tried = law;
    tried.window_overhang = std::round(std::exp(at[0]));
    if (cached) tried.cache_write = tried.window_cache_write = write.at(at, 1);
    return tried;
  };
  const Objective objective = [&](const Arguments& at) {
    return mean_log_error(outcomes(some, profile_of(with(at), frame)));
  };
  Arguments start{std::log(150.0)};
  if (cached) write.start(start, *law.cache_write);
  const cost::AttentionLaw best = with(minimise(objective, start, 0.5, 1000));
  law.window_overhang = best.window_overhang;
  law.window_cache_write = best.window_cache_write;
}

std::vector<Kernel> part_of(const std::vector<Kernel>& kernels, bool windowed) {
  std::vector<Kernel> some;
  for (const Kernel& kernel : kernels)
    if ((kernel.shape.window > 0) == windowed) some.push_back(kernel);
  return some;
}

/// Returns true when the law is of this GPU, head dimension and mask. A law of another GPU is marked as scaled
/// (lend.cpp), so it never counts. Its backward direction then stays as it is.
bool is_own_series(const cost::AttentionLaw& law, const LawKey& key) {
  return !key.narrow && law.head_dim == key.head_dim && law.causal == key.causal &&
         law.evidence.provenance == cost::Provenance::kFitted;
}

/// Says where a backward direction comes from that these tables do not measure.
std::string source_of_backward(const cost::AttentionLaw& like, const LawKey& key) {
  static constexpr std::string_view kAsItWas = "backward as it was: ";
  const std::string& source = like.evidence.source;
  const std::size_t known = source.rfind(kAsItWas);
  if (is_own_series(like, key))
    return fmt::format("; {}{}", kAsItWas,
                       known == std::string::npos ? source : source.substr(known + kAsItWas.size()));
  const std::string gpu =
      like.evidence.provenance == cost::Provenance::kScaled ? " of " + like.evidence.scaled_from : "";
  return fmt::format("; backward not measured: in the proportion to forward of head dimension {}{}, {}", like.head_dim,
                     gpu, like.causal ? "causal" : "not causal");
}

/// Fits the law of one head dimension, mask and width. Returns nothing when too few kernels were measured. When only
/// forward kernels were measured, the other direction or its proportion comes from `known`.
std::optional<cost::AttentionLaw> fit_law(const LawKey& key, const cost::Profile& profile,
                                          const std::vector<Kernel>& all, const std::string& source) {
  const cost::AttentionLaws& known = profile.attention;
  const std::vector<Kernel> kernels = part_of(all, false);
  const auto back = static_cast<std::size_t>(
      std::count_if(kernels.begin(), kernels.end(), [](const Kernel& kernel) { return kernel.shape.backward; }));
  const std::size_t forward = kernels.size() - back;
  if (forward < kLeastEachWay || (back < kLeastEachWay && forward < kLeastForward)) return std::nullopt;
  cost::AttentionLaw law{
      .head_dim = key.head_dim, .causal = key.causal, .cache_write = usual_cache_write(profile.memory_bound)};
  std::string backward_source;
  Direction ahead = fit_kernels_one_way(law, known, kernels, false);
  law.forward = ahead.rate;
  if (ahead.cache_write) law.cache_write = ahead.cache_write;
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
    backward_source = source_of_backward(like, key);
  }
  if (const auto windowed = part_of(all, true); windowed.size() >= kLeastForward) fit_windows(law, known, windowed);
  law.cache_write = ahead.cache_write;
  law.evidence = evidence(source, ahead.fitted, ahead.left_out);
  law.evidence.source += backward_source;
  return law;
}

}  // namespace

Seconds beside_time(const measured::AttentionSample& sample, const cost::Profile& profile) {
  const AttentionShape shape = shape_of_kernel(sample);
  const auto [below, above] =
      cost::nearest_laws(cost::laws_of(profile.attention, shape), shape.causal, static_cast<int>(shape.head_dim));
  const cost::AttentionLaw& law = below ? *below : *above;
  const auto& write = shape.window > 0 && law.window_cache_write ? law.window_cache_write : law.cache_write;
  return cache_time(work_of_law(sample), write ? *write : usual_cache_write(profile.memory_bound));
}

FittedAttention fitted_attention(const cost::Profile& known, const measured::Samples& samples) {
  std::map<LawKey, std::vector<Kernel>> sorted;
  for (const auto& sample : samples.attention) {
    AttentionShape shape = sample.shape;
    const bool fastest = sample.implementation != "composed" && shape.kernel == FlashKernel::kFastest;
    if (!fastest || shape.kv_length < kShortest) continue;
    const bool narrow = bytes_per_element(shape.precision) < 2;
    shape.precision = Precision::kBf16;  // the fit tries a law under this key
    sorted[{narrow, static_cast<int>(shape.head_dim), shape.causal}].push_back(
        {shape, sample.time.median.value(), work_of_law(sample)});
  }
  FittedAttention fitted;
  for (const auto& [key, kernels] : sorted) {
    auto law = fit_law(key, known, kernels, source_of(samples, samples.attention));
    if (!law) continue;
    law->evidence.provenance = provenance_of(samples.attention);
    (key.narrow ? fitted.fp8 : fitted.laws).push_back(*law);
  }
  return fitted;
}

void fit_attention_kernels(cost::Profile& profile, const measured::Samples& samples) {
  // A new law serves engines, too: the older one of another table goes.
  const auto replace = [&](std::vector<cost::AttentionLaw>& laws, const std::vector<cost::AttentionLaw>& fitted) {
    for (const cost::AttentionLaw& law : fitted) {
      for (auto* older : {&laws, &profile.attention.serving})
        std::erase_if(*older, [&](const auto& l) { return l.head_dim == law.head_dim && l.causal == law.causal; });
      laws.push_back(law);
    }
  };
  const FittedAttention fitted = fitted_attention(profile, samples);
  replace(profile.attention.laws, fitted.laws);
  replace(profile.attention.fp8, fitted.fp8);
}

}  // namespace foretoken::fit

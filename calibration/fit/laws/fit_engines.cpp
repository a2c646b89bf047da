// Fits an engine's constants by downhill simplex on the engine's table, with the law of attention as it is.
#include "calibration/fit/laws/fit_engines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "calibration/fit/laws/attention_tables.h"
#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"

namespace foretoken::fit {
namespace {

using AttentionKernels = std::vector<measured::AttentionSample>;

constexpr std::int64_t kShortestKernel = 512;  // tokens; shorter kernels measure the launches of a harness
constexpr std::size_t kKernelsForEach = 20;    // constant
constexpr std::size_t kMostFitted = 600;
constexpr cost::CacheWrite kFirstWrite{Seconds(5e-6), BytesPerSecond(3e12)};
/// AttentionKernels that ignore their windows have an overhang as long as any sequence.
constexpr double kMostOverhang = 131072, kMostFactor = 10;
/// A kernel this many times as slow or as fast as the law's is another kernel, so it has a rate of its own. Kernels of
/// one kind differ by up to 1.4 in the tables of seven GPUs, a fallback kernel by 3.6 to 4.5.
constexpr double kOtherKernel = 2;
constexpr double kFirstHalfLength = 50, kFirstTail = 0.1;  // a fit moves logarithms, so it cannot begin at 0
constexpr int kSteps = 4000;

/// Returns the outcomes of an engine's kernels under its constants.
std::vector<Outcome> outcomes_of(const AttentionKernels& samples, const EnginePrediction& predicted) {
  std::vector<Outcome> all;
  for (const measured::AttentionSample& sample : samples)
    all.push_back({predicted(sample).value(), sample.time.median.value()});
  return all;
}

/// The constants that the fit of one engine moves: those of the cache, the kernel's factor or its rate, the overhang.
struct EngineFit {
  cost::EngineAttention of{};
  bool cached = false, by_factor = true;
  FittedCacheWrite write{.by_token = true};
  cost::CacheWrite first_write = kFirstWrite;
  std::optional<cost::AttentionRate> first_rate{};  ///< where the fit of the kernel's own rate begins; none: a factor

  [[nodiscard]] std::size_t of_cache() const { return cached ? (write.with_queries ? 4 : 3) : 0; }
  [[nodiscard]] std::size_t of_kernel() const { return first_rate ? 3 : by_factor ? 1 : 0; }
  [[nodiscard]] std::size_t constants() const { return of_cache() + of_kernel() + (of.windowed ? 1 : 0); }
  [[nodiscard]] Arguments start(double overhang) const {
    Arguments start;
    if (cached) write.start(start, first_write);
    if (first_rate)
      for (const double first : {first_rate->peak.value(), first_rate->half_length, first_rate->tail})
        start.push_back(std::log(first));
    else if (by_factor)
      start.push_back(0);
    if (of.windowed) start.push_back(std::log(overhang));
    return start;
  }
  [[nodiscard]] cost::EngineAttention at(const Arguments& at) const {
    cost::EngineAttention engine = of;
    if (cached) engine.cache_write = write.at(at, 0);
    if (first_rate) {
      const auto constant = [&](std::size_t i) { return rounded(std::exp(at[of_cache() + i])); };
      engine.forward = {FlopPerSecond(constant(0)), constant(1), constant(2)};
    } else if (by_factor) {
      const double factor = std::exp(at[of_cache()]);
      engine.kernel_factor = rounded(std::clamp(factor, 1 / kMostFactor, kMostFactor));
    }
    if (of.windowed) engine.window_overhang = std::round(std::min(std::exp(at.back()), kMostOverhang));
    return engine;
  }
};

/// Returns the constants that meet the kernels best. A factor other than 1 must earn its price, as a sharpness must.
/// Descents with a window start from three overhangs, because a kernel may ignore its window.
cost::EngineAttention best_of(const EngineFit& fit, const cost::AttentionLaw& law, const cost::AttentionLaws& frame,
                              const AttentionKernels& fitted) {
  AttentionKernels some;
  for (std::size_t i = 0; i < fitted.size(); i += 1 + fitted.size() / kMostFitted) some.push_back(fitted[i]);
  const Objective objective = [&](const Arguments& at) {
    const cost::EngineAttention tried = fit.at(at);
    return mean_log_error(outcomes_of(some, EnginePrediction(law, tried, frame))) +
           kSharpnessPrice * std::abs(std::log(tried.kernel_factor));
  };
  cost::EngineAttention best;
  double least = std::numeric_limits<double>::infinity();
  for (const double overhang : {30.0, 300.0, 8192.0}) {
    const Arguments found = minimise(objective, minimise(objective, fit.start(overhang), 0.4, kSteps), 0.4, kSteps);
    if (const double value = objective(found); value < least) {
      least = value;
      best = fit.at(found);
    }
    if (!fit.of.windowed) break;
  }
  return best;
}

/// Returns the constants that the kernels can decide, or nothing when they are too few. Few kernels with a window
/// decide the overhang alone. They write the cache as the engine's other kernels of the law do.
std::optional<EngineFit> engine_fit(const cost::EngineAttention& of, const AttentionKernels& fitted,
                                    const std::vector<cost::EngineAttention>& known) {
  if (fitted.empty()) return std::nullopt;
  const measured::AttentionSample& first = fitted.front();
  const bool narrow = bytes_per_element(first.shape.precision) < 2;
  // TensorRT-LLM rotates queries beside attention. In 8 bits every engine brings them to 8 bits.
  EngineFit fit{
      .of = of,
      .cached = first.beside.value() > 0,
      .write = {.by_token = true, .with_queries = narrow || of.engine == cost::InferenceEngine::kTensorRtLlm}};
  const auto other = std::ranges::find(known, fit.of.engine, &cost::EngineAttention::engine);
  if (fitted.size() < kKernelsForEach * fit.constants() && fit.of.windowed && other != known.end()) {
    fit.cached = fit.by_factor = false;
    fit.of.cache_write = other->cache_write;
    fit.of.kernel_factor = other->kernel_factor;
    fit.of.forward = other->forward;
  }
  if (fitted.size() < kKernelsForEach * fit.constants()) return std::nullopt;
  return fit;
}

/// Returns the fit of a rate of the engine's own, or nothing where its kernel is about as fast as the law's.
std::optional<EngineFit> fit_of_own_rate(EngineFit fit, const cost::EngineAttention& by_factor,
                                         const cost::AttentionRate& of_law) {
  if (std::abs(std::log(by_factor.kernel_factor)) < std::log(kOtherKernel)) return std::nullopt;
  fit.first_rate = {of_law.peak / by_factor.kernel_factor, std::max(of_law.half_length, kFirstHalfLength),
                    std::max(of_law.tail, kFirstTail)};
  if (by_factor.cache_write) fit.first_write = *by_factor.cache_write;
  return fit;
}

/// Returns the constants that meet the kernels better.
cost::EngineAttention closer(cost::EngineAttention one, cost::EngineAttention other, const cost::AttentionLaw& law,
                             const cost::AttentionLaws& frame, const AttentionKernels& kernels) {
  const auto error = [&](const cost::EngineAttention& engine) {
    return mean_log_error(outcomes_of(kernels, EnginePrediction(law, engine, frame)));
  };
  return error(other) < error(one) ? std::move(other) : std::move(one);
}

}  // namespace

void fit_engines(cost::AttentionLaws& attention, const measured::Samples& samples) {
  for (auto* laws : {&attention.laws, &attention.fp8, &attention.serving})
    for (cost::AttentionLaw& law : *laws) law.engines.clear();
  std::map<std::tuple<const cost::AttentionLaw*, cost::InferenceEngine, bool>, AttentionKernels> sorted;
  std::map<cost::InferenceEngine, std::vector<measured::From<measured::AttentionSample>>> tables;
  for (const measured::From<measured::AttentionSample>& sample : samples.attention) {
    const auto engine = engine_of(sample);
    const cost::AttentionLaw* const law = own_law(attention, sample);
    if (!engine || law == nullptr || sample.shape.kv_length < kShortestKernel) continue;
    sorted[{law, *engine, sample.shape.window > 0}].push_back(sample);
    tables[*engine].push_back(sample);
  }
  std::map<const cost::AttentionLaw*, std::vector<cost::EngineAttention>> found;
  for (const auto& [key, kernels] : sorted) {
    const auto& [law, engine, windowed] = key;
    AttentionKernels fitted, left_out;
    for (const measured::AttentionSample& kernel : kernels)
      (held_out(attention_key(kernel.shape)) ? left_out : fitted).push_back(kernel);
    const auto fit = engine_fit({.engine = engine, .windowed = windowed}, fitted, found[law]);
    if (!fit) continue;
    cost::EngineAttention best = best_of(*fit, *law, attention, fitted);
    const auto own = fit_of_own_rate(*fit, best, law->forward);
    if (own && fitted.size() >= kKernelsForEach * own->constants())
      best = closer(std::move(best), best_of(*own, *law, attention, fitted), *law, attention, fitted);
    best.evidence = evidence(source_of(samples, tables[engine]), fitted.size(),
                             outcomes_of(left_out, EnginePrediction(*law, best, attention)));
    best.evidence.provenance = cost::Provenance::kFitted;
    found[law].push_back(std::move(best));
  }
  for (auto* laws : {&attention.laws, &attention.fp8, &attention.serving})
    for (cost::AttentionLaw& law : *laws)
      if (const auto own = found.find(&law); own != found.end()) law.engines = std::move(own->second);
}

}  // namespace foretoken::fit

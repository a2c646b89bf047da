// Fits the rate laws of fused attention. Published series time forward and backward together. Operator tables time them
// separately, but for one sequence length only.
#include "calibration/fit/laws/fit_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "sim/base/check.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kSeriesTokens = 16384, kSeriesHidden = 2048;  // of the flash-attention repository's benchmarks
constexpr Seconds kLaunch = microseconds(2);

cost::Profile profile_with(const cost::AttentionLaw& law, int multiprocessors) {
  return {.attention = {.laws = {law}, .multiprocessors = multiprocessors, .launch = kLaunch}};
}

double seconds_of(const AttentionShape& shape, const cost::AttentionLaw& law, int multiprocessors) {
  return cost::attention_time(shape, profile_with(law, multiprocessors)).value();
}

AttentionShape series_shape(const AttentionSeries& series, double sequence) {
  const auto length = static_cast<std::int64_t>(sequence);
  const std::int64_t heads = static_cast<std::int64_t>(kSeriesHidden) / series.head_dim;
  return {.batch = static_cast<std::int64_t>(kSeriesTokens / sequence),
          .heads = heads,
          .kv_heads = heads,
          .q_length = length,
          .kv_length = length,
          .head_dim = series.head_dim,
          .causal = series.causal};
}

/// Returns the law's time of one point of a series: the sum over the directions that have a rate.
double series_seconds(AttentionShape shape, const cost::AttentionLaw& law, int multiprocessors) {
  double seconds = 0;
  for (const bool backward : {false, true}) {
    if ((backward ? law.backward : law.forward).peak.value() == 0) continue;
    shape.backward = backward;
    seconds += seconds_of(shape, law, multiprocessors);
  }
  return seconds;
}

/// Returns the operations that a series times, relative to a forward pass.
double operations_of(AttentionHalf half) {
  return half == AttentionHalf::kForward ? 1.0 : half == AttentionHalf::kBackward ? 2.5 : 3.5;
}

/// Returns the key that decides whether a kernel is held out.
std::string operator_key(const measured::AttentionSample& kernel) {
  const AttentionShape& shape = kernel.shape;
  return fmt::format("{} {} {} {}", kernel.implementation, shape.heads, shape.q_length, shape.backward);
}

}  // namespace

double sharpness_at(double log_sharpness) {
  return rounded(std::clamp(std::exp(log_sharpness), 1 / kMostSharpness, kMostSharpness));
}

AttentionSeries in_proportion(AttentionSeries series, const AttentionSeries& over, const AttentionSeries& under) {
  for (std::size_t i = 0; i < series.tflops.size(); ++i)
    series.tflops[i] *= under.tflops.at(i) > 0 ? over.tflops.at(i) / under.tflops.at(i) : 0;
  return series;
}

bool has_fitted_kernels(const std::vector<measured::AttentionSample>& kernels, bool backward) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const measured::AttentionSample& kernel) {
    return kernel.shape.backward == backward && !held_out(operator_key(kernel));
  });
}

cost::AttentionRate fit_direction(const std::vector<measured::AttentionSample>& kernels, const DirectionFit& fit,
                                  cost::Evidence& proof) {
  expects(has_fitted_kernels(kernels, fit.backward), "there are kernels of the direction");
  std::vector<measured::AttentionSample> fitted, left_out;
  for (const measured::AttentionSample& kernel : kernels)
    if (kernel.shape.backward == fit.backward) (held_out(operator_key(kernel)) ? left_out : fitted).push_back(kernel);
  const auto rate_of = [&](const Arguments& at) {
    return cost::AttentionRate{.peak = FlopPerSecond(rounded(std::exp(at[0]))),
                               .half_length = fit.half_length ? *fit.half_length : rounded(std::exp(at[2])),
                               .tail = rounded(std::exp(at[1]))};
  };
  const auto outcomes = [&](const std::vector<measured::AttentionSample>& samples, const cost::AttentionRate& rate) {
    std::vector<Outcome> all;
    for (const measured::AttentionSample& sample : samples) {
      const cost::AttentionLaw law{
          .head_dim = static_cast<int>(sample.shape.head_dim), .causal = true, .forward = rate, .backward = rate};
      all.push_back({seconds_of(sample.shape, law, fit.multiprocessors), sample.time.median.value()});
    }
    return all;
  };
  Arguments start{std::log(fit.multiprocessors * 2e12), 0.0};
  if (!fit.half_length) start.push_back(std::log(500.0));
  const auto best =
      minimise([&](const Arguments& at) { return mean_log_error(outcomes(fitted, rate_of(at))); }, start, 0.3);
  proof = evidence(proof.source, fitted.size(), outcomes(left_out, rate_of(best)));
  return rate_of(best);
}

std::vector<AttentionPoint> points_of(const AttentionSeries& series) {
  std::vector<AttentionPoint> points;
  for (std::size_t i = 0; i < series.tflops.size(); ++i) {
    if (series.tflops[i] <= 0) continue;
    const AttentionShape shape = series_shape(series, series.sequences[i]);
    points.push_back({shape, (operations_of(series.half) * shape.flop() / teraflops(series.tflops[i])).value()});
  }
  return points;
}

cost::AttentionLaw fit_series(const AttentionSeries& series, const AttentionGivens& givens, std::string source) {
  const std::vector<AttentionPoint> points = points_of(series);
  const double fastest = *std::max_element(series.tflops.begin(), series.tflops.end());
  const auto law_of = [&](const Arguments& at) {
    cost::AttentionLaw law{.head_dim = series.head_dim, .causal = series.causal};
    const double forward = std::exp(at[0]), half_length = rounded(std::exp(at[1]));
    const double sharpness = sharpness_at(at[2]);
    const double backward = series.half == AttentionHalf::kBoth ? forward / givens.forward_over_backward : forward;
    if (series.half != AttentionHalf::kBackward)
      law.forward = {FlopPerSecond(rounded(forward)), half_length, givens.forward_tail, sharpness};
    if (series.half != AttentionHalf::kForward)
      law.backward = {FlopPerSecond(rounded(backward)), half_length, givens.backward_tail, sharpness};
    return law;
  };
  const auto outcome = [&](const AttentionPoint& point, const cost::AttentionLaw& law) {
    return Outcome{series_seconds(point.shape, law, givens.multiprocessors), point.seconds};
  };
  const auto fitted_on = [&](const std::vector<AttentionPoint>& some) {
    const Objective objective = [&](const Arguments& at) {
      std::vector<Outcome> outcomes;
      for (const AttentionPoint& point : some) outcomes.push_back(outcome(point, law_of(at)));
      return mean_log_error(outcomes) + kSharpnessPrice * std::abs(at[2]);
    };
    return law_of(minimise(objective, {std::log(1e12 * fastest), std::log(300.0), 0.0}, 0.2));
  };
  std::vector<Outcome> left_out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<AttentionPoint> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    left_out.push_back(outcome(points[i], fitted_on(others)));
  }
  cost::AttentionLaw law = fitted_on(points);
  law.evidence = evidence(std::move(source), points.size(), left_out);
  return law;
}

}  // namespace foretoken::fit

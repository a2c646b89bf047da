// The published series give forward and backward together; operator tables give them apart, but for one sequence
// length.
#include "calibration/fit/fit_attention.h"

#include <cmath>

#include "calibration/fit/minimise.h"
#include "calibration/fit/residuals.h"
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

/// Time of one point of a series as the law has it: the halves that have a rate.
double series_seconds(AttentionShape shape, const cost::AttentionLaw& law, int multiprocessors) {
  double seconds = 0;
  for (const bool backward : {false, true}) {
    if ((backward ? law.backward : law.forward).peak.value() == 0) continue;
    shape.backward = backward;
    seconds += seconds_of(shape, law, multiprocessors);
  }
  return seconds;
}

/// Operations of a series, relative to a forward pass.
double operations_of(AttentionHalf half) {
  return half == AttentionHalf::kForward ? 1.0 : half == AttentionHalf::kBackward ? 2.5 : 3.5;
}

}  // namespace

cost::AttentionRate fit_direction(const std::vector<OperatorSample>& operators, const std::string& system,
                                  bool backward, int multiprocessors, double half_length, cost::Evidence& proof) {
  std::vector<OperatorSample> fitted, apart;
  for (const OperatorSample& sample : operators)
    if (sample.attention && sample.system == system && sample.shape.backward == backward)
      (held_out(sample.key()) ? apart : fitted).push_back(sample);
  expects(!fitted.empty(), "the operator table has attention kernels of the system");
  const auto rate_of = [&](const Arguments& at) {
    return cost::AttentionRate{.peak = FlopPerSecond(rounded(std::exp(at[0]))),
                               .half_length = half_length < 0 ? rounded(std::exp(at[2])) : half_length,
                               .tail = rounded(std::exp(at[1]))};
  };
  const auto outcomes = [&](const std::vector<OperatorSample>& samples, const cost::AttentionRate& rate) {
    std::vector<Outcome> all;
    for (const OperatorSample& sample : samples) {
      const cost::AttentionLaw law{
          .head_dim = static_cast<int>(sample.shape.head_dim), .causal = true, .forward = rate, .backward = rate};
      all.push_back({seconds_of(sample.shape, law, multiprocessors), sample.seconds});
    }
    return all;
  };
  Arguments start{std::log(multiprocessors * 2e12), 0.0};
  if (half_length < 0) start.push_back(std::log(500.0));
  const auto best =
      minimise([&](const Arguments& at) { return mean_log_error(outcomes(fitted, rate_of(at))); }, start, 0.3);
  proof = evidence(proof.source, fitted.size(), outcomes(apart, rate_of(best)));
  return rate_of(best);
}

cost::AttentionLaw fit_series(const AttentionSeries& series, const AttentionGivens& givens, std::string source) {
  struct Point {
    AttentionShape shape;
    double seconds;
  };
  std::vector<Point> fitted, apart;
  for (std::size_t i = 0; i < series.tflops.size(); ++i) {
    if (series.tflops[i] <= 0) continue;
    const AttentionShape shape = series_shape(series, series.sequences[i]);
    const Point point{shape, (operations_of(series.half) * shape.flop() / teraflops(series.tflops[i])).value()};
    const std::string key = series.name + std::to_string(series.head_dim) + std::to_string(i);
    (held_out(key) ? apart : fitted).push_back(point);
  }
  const auto law_of = [&](const Arguments& at) {
    cost::AttentionLaw law{.head_dim = series.head_dim, .causal = series.causal};
    const double forward = std::exp(at[0]), half_length = rounded(std::exp(at[1]));
    const double backward = series.half == AttentionHalf::kBoth ? forward / givens.forward_over_backward : forward;
    if (series.half != AttentionHalf::kBackward)
      law.forward = {FlopPerSecond(rounded(forward)), half_length, givens.forward_tail};
    if (series.half != AttentionHalf::kForward)
      law.backward = {FlopPerSecond(rounded(backward)), half_length, givens.backward_tail};
    return law;
  };
  const auto outcomes = [&](const std::vector<Point>& points, const cost::AttentionLaw& law) {
    std::vector<Outcome> all;
    for (const Point& point : points)
      all.push_back({series_seconds(point.shape, law, givens.multiprocessors), point.seconds});
    return all;
  };
  const Arguments best = minimise([&](const Arguments& at) { return mean_log_error(outcomes(fitted, law_of(at))); },
                                  {std::log(series.tflops.back() * 1e12), std::log(300.0)}, 0.2);
  cost::AttentionLaw law = law_of(best);
  law.evidence = evidence(std::move(source), fitted.size(), outcomes(apart, law));
  return law;
}

}  // namespace foretoken::fit

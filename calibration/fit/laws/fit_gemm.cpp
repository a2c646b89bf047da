// Fits five constants of the tile-and-wave law in log space. The objective calls the function that predictions use.
#include "calibration/fit/laws/fit_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "calibration/fit/laws/fit_correction.h"
#include "calibration/fit/numerics/minimise.h"
#include "sim/base/check.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kUsualSoftness = 0.5;  // where the descent starts; full tables give 0 to 1

bool like_training(const GemmShape& shape) {
  return shape.pass != GemmPass::kWeightGradient && shape.batch == 1 && shape.m >= 128 && shape.m % 64 == 0 &&
         shape.n >= 64 && shape.k >= 64;
}

Arguments arguments_of(const GemmFit& fit) {
  const cost::TileWaveLaw& law = fit.start;
  Arguments at{std::log(law.efficiency), std::log(law.prologue_k), law.small_tile_loss};
  if (fit.memory_and_launch) {
    at.push_back(std::log(law.memory_bandwidth.value()));
    at.push_back(std::log(law.launch.value()));
  }
  if (fit.fine) at.push_back(law.wave_softness);
  return at;
}

cost::TileWaveLaw law_of(const GemmFit& fit, const Arguments& at) {
  cost::TileWaveLaw law = fit.start;
  law.efficiency = rounded(std::exp(at[0]));
  law.prologue_k = rounded(std::exp(at[1]));
  law.small_tile_loss = rounded(std::clamp(at[2], 0.0, 0.3));
  if (fit.memory_and_launch) {
    law.memory_bandwidth = BytesPerSecond(rounded(std::exp(at[3])));
    law.launch = Seconds(rounded(std::exp(at[4])));
  }
  if (fit.fine) law.wave_softness = rounded(std::clamp(at.back(), 0.0, 1.0), 2);
  return law;
}

/// Returns every n-th sample, so that at most `most` are left.
std::vector<measured::GemmSample> thinned(const std::vector<measured::GemmSample>& samples, std::size_t most) {
  const std::size_t step = 1 + samples.size() / most;
  std::vector<measured::GemmSample> some;
  for (std::size_t i = 0; i < samples.size(); i += step) some.push_back(samples[i]);
  return some;
}

/// Returns the distance of bandwidth and launch from their start, in factors of e.
double distance(const Arguments& at, const GemmFit& fit) {
  if (!fit.memory_and_launch) return 0;
  return std::abs(at[3] - std::log(fit.start.memory_bandwidth.value())) +
         std::abs(at[4] - std::log(fit.start.launch.value()));
}

/// Efficiency, prologue and small-tile loss trade against each other, so descents start from several corners.
Arguments best_of_starts(const Objective& objective, const GemmFit& fit) {
  Arguments best = arguments_of(fit);
  double least = objective(best);
  const int evaluations = fit.fine ? 600 : 1200;  // with a fine grid of corrections, the law itself matters less
  for (const double efficiency : {0.9, 1.0, 1.15})
    for (const double prologue : {0.5, 1.0}) {
      if (fit.fine && efficiency != 1) continue;
      Arguments start = arguments_of(fit);
      start[0] += std::log(efficiency);
      start[1] += std::log(prologue);
      start[2] *= prologue;
      const Arguments found = minimise(objective, start, 0.1, evaluations);
      if (const double value = objective(found); value < least) {
        least = value;
        best = found;
      }
    }
  return best;
}

cost::Profile profile_with(const cost::GemmLaw& law, Precision precision = Precision::kBf16) {
  return {.gemm = {{precision, law}}};
}

std::vector<Outcome> outcomes(const std::vector<measured::GemmSample>& samples, const cost::GemmLaw& law) {
  std::vector<Outcome> all;
  if (samples.empty()) return all;
  const cost::Profile profile = profile_with(law, samples.front().shape.precision);
  for (const measured::GemmSample& sample : samples)
    all.push_back({cost::gemm_time(sample.shape, profile).value(), sample.time.median.value()});
  return all;
}

/// Returns the constants that meet the products best. With a full table it also chooses the tiles.
cost::TileWaveLaw best_law(const std::vector<measured::GemmSample>& products, GemmFit fit) {
  constexpr std::size_t kEnough = 2000;
  const std::vector<measured::GemmSample> some = fit.fine ? thinned(products, kEnough) : products;
  cost::TileWaveLaw best = fit.start;
  double least = std::numeric_limits<double>::infinity();
  for (const cost::TileSet tiles : {cost::TileSet::kDoubling, cost::TileSet::kFine}) {
    if (!fit.fine && tiles != fit.start.tiles) continue;
    fit.start.tiles = tiles;
    if (fit.fine) fit.start.wave_softness = kUsualSoftness;
    const Objective objective = [&](const Arguments& at) {
      return mean_log_error(outcomes(some, {.law = law_of(fit, at)})) + fit.loyalty * distance(at, fit);
    };
    const Arguments found = best_of_starts(objective, fit);
    if (const double value = objective(found); value < least) {
      least = value;
      best = law_of(fit, found);
    }
  }
  return best;
}

/// Returns the median of measured over predicted time for weight gradients, or 1 when there are none.
double weight_gradient_factor(const std::vector<measured::GemmSample>& samples, const cost::GemmLaw& law) {
  std::vector<double> ratios;
  for (const measured::GemmSample& sample : samples)
    if (sample.shape.pass == GemmPass::kWeightGradient)
      ratios.push_back(sample.time.median.value() / outcomes({sample}, law).front().predicted);
  if (ratios.empty()) return 1;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return rounded(*middle);
}

/// The samples that enter the fit, and the samples that are held out.
std::pair<std::vector<measured::GemmSample>, std::vector<measured::GemmSample>> divided(
    const std::vector<measured::GemmSample>& samples) {
  std::vector<measured::GemmSample> fitted, left_out;
  for (const measured::GemmSample& sample : samples)
    (held_out(held_out_key(sample)) ? left_out : fitted).push_back(sample);
  return {fitted, left_out};
}

}  // namespace

std::string held_out_key(const measured::GemmSample& product) {
  const GemmShape& shape = product.shape;
  std::string key = fmt::format("{} {} {}", shape.m, shape.n, shape.k);
  if (shape.batch != 1 || shape.pass != GemmPass::kForward)
    key += fmt::format(" x {} pass {}", shape.batch, static_cast<int>(shape.pass));
  return key;
}

std::size_t steady_count(const std::vector<measured::GemmSample>& samples) {
  return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [](const measured::GemmSample& sample) {
    return like_training(sample.shape) && !held_out(held_out_key(sample));
  }));
}

std::vector<Outcome> held_out_outcomes(const std::vector<measured::GemmSample>& samples, const cost::GemmLaw& law,
                                       std::int64_t least) {
  std::vector<measured::GemmSample> left_out;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(left_out), [&](const measured::GemmSample& sample) {
    return held_out(held_out_key(sample)) && std::min({sample.shape.m, sample.shape.n, sample.shape.k}) >= least;
  });
  return outcomes(left_out, law);
}

cost::GemmLaw fit_gemm(const std::vector<measured::GemmSample>& samples, const GemmFit& fit, std::string source) {
  std::vector<measured::GemmSample> steady;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(steady),
               [](const measured::GemmSample& sample) { return like_training(sample.shape); });
  std::vector<measured::GemmSample> fitted, left_out;
  std::tie(fitted, left_out) = divided(steady);
  expects(!fitted.empty(), "a table has products of the sizes that training runs");
  cost::GemmLaw law{.law = best_law(fitted, fit)};
  std::tie(fitted, left_out) = divided(fit.correct ? samples : steady);
  law.weight_gradient_factor = weight_gradient_factor(fitted, law);
  if (fit.correct) {
    for (const GemmPass pass : {GemmPass::kForward, GemmPass::kInputGradient, GemmPass::kWeightGradient})
      law.corrections[static_cast<std::size_t>(pass)] =
          fit_correction(fitted, pass, law, {.fine = fit.fine, .lines = fit.fine && fit.lines});
  }
  law.evidence = evidence(std::move(source), fitted.size(), outcomes(left_out, law));
  return law;
}

int likely_multiprocessors(const std::vector<measured::GemmSample>& samples, const cost::TileWaveLaw& start) {
  // Datasheets: L4, A30 (56), H20, V100, A40, A100, H100 PCIe, H100 and H200, L40S, B200, B300.
  constexpr int kKnown[] = {56, 58, 78, 80, 84, 108, 114, 132, 142, 148, 160};
  constexpr std::size_t kEnough = 1500;
  std::vector<measured::GemmSample> steady, some;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(steady), [](const measured::GemmSample& sample) {
    return like_training(sample.shape) && !held_out(held_out_key(sample));
  });
  const std::size_t step = 1 + steady.size() / kEnough;
  for (std::size_t i = 0; i < steady.size(); i += step) some.push_back(steady[i]);
  const auto error_with = [&](int count) {
    GemmFit fit{.start = start};
    fit.start.multiprocessors = count;
    const Objective objective = [&](const Arguments& at) {
      return mean_log_error(outcomes(some, {.law = law_of(fit, at)}));
    };
    return objective(minimise(objective, arguments_of(fit), 0.1, 400));
  };
  int best = start.multiprocessors;
  double least = error_with(best);
  for (const int count : kKnown)
    if (const double error = error_with(count); error < least) {
      least = error;
      best = count;
    }
  return best;
}

}  // namespace foretoken::fit

// Fits a launch and a factor for each class of rows. The fit makes the median of the absolute error in logarithms
// small, with a third of its mean (median_misfit).
#include "calibration/fit/laws/fit_engine_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/check_profile.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kFewestProducts = 100, kMostProducts = 1500;  // of a class
constexpr double kLongest = 500e-6;                                 // seconds
constexpr double kLeastGain = 0.1, kWorstMedian = 0.15;

/// Products with a like number of rows. The knot stands at the end of the outer classes, so that all of them have the
/// numbers of their class.
struct RowClass {
  std::int64_t least, most, knot;
};
constexpr std::array<RowClass, 3> kRowClasses{
    {{1, 128, 128}, {129, 1023, 362}, {1024, std::numeric_limits<std::int64_t>::max(), 1024}}};

/// A product with the times that it has by the profile, in seconds.
struct ProductRow {
  std::int64_t rows = 1;  ///< m
  double measured = 0, by_profile = 0, cast = 0;
  bool held_out = false;

  [[nodiscard]] double log_error(double launch, double factor) const {
    return std::abs(std::log((cast + launch + factor * by_profile) / measured));
  }
};
using ProductRows = std::vector<ProductRow>;

double misfit_of(const ProductRows& rows, double launch, double factor) {
  std::vector<double> errors;
  for (const ProductRow& row : rows) errors.push_back(row.log_error(launch, factor));
  return median_misfit(std::move(errors));
}

// A misfit of the median has several valleys. The search begins at several launches, and takes the deepest.
cost::ProductsOfRows fit_rows(const ProductRows& rows, std::int64_t knot) {
  const auto numbers = [](const Arguments& at) { return std::pair(std::max(0.0, at[0]) * 1e-6, std::exp(at[1])); };
  const auto misfit = [&](const Arguments& at) {
    const auto [launch, factor] = numbers(at);
    return misfit_of(rows, launch, factor);
  };
  Arguments best;
  for (const double launch_us : {0.5, 4.0, 8.0}) {
    Arguments found = minimise(misfit, {launch_us, 0}, 0.3);
    if (best.empty() || misfit(found) < misfit(best)) best = std::move(found);
  }
  const auto [launch, factor] = numbers(best);
  return {.rows = knot, .launch = Seconds(launch), .factor = factor};
}

/// Returns the time of the cast of the input, as services count it: with a known scale. Zero where the sample's time
/// does not include it.
double cast_of(const measured::GemmSample& sample, const cost::Profile& profile) {
  if (!sample.with_quantisation) return 0;
  const double elements = real(sample.shape.m) * real(sample.shape.k);
  return cost::quantisation_time({.elements = elements, .to = sample.shape.precision}, profile).value();
}

ProductRows rows_of(const measured::Samples& samples, Precision precision, const RowClass& rows,
                    const cost::Profile& brief) {
  ProductRows chosen;
  for (const auto& sample : samples.gemms) {
    const GemmShape& shape = sample.shape;
    const double measured = sample.time.median.value();
    if (shape.precision != precision || shape.m < rows.least || shape.m > rows.most || measured > kLongest) continue;
    chosen.push_back({.rows = shape.m,
                      .measured = measured,
                      .by_profile = cost::gemm_time(shape, brief).value(),
                      .cast = cast_of(sample, brief),
                      .held_out = held_out(fmt::format("{} {} {}", shape.m, shape.n, shape.k))});
  }
  return chosen;
}

/// Predicts products as services do: with the numbers between the knots.
std::vector<Outcome> outcomes_of(const ProductRows& rows, const cost::EngineProductsLaw& law) {
  std::vector<Outcome> outcomes;
  for (const ProductRow& row : rows) {
    const Seconds product = cost::engine_product_time(Seconds(row.by_profile), row.rows, law);
    outcomes.push_back({.predicted = row.cast + product.value(), .measured = row.measured});
  }
  return outcomes;
}

}  // namespace

std::optional<cost::EngineProductsLaw> fit_engine_products(const measured::Samples& samples, Precision precision,
                                                           const cost::Profile& profile) {
  const cost::Profile brief = of_brief_runs(profile);
  cost::EngineProductsLaw law;
  std::size_t fitted_rows = 0;
  ProductRows left_out;
  double before = 0, after = 0;
  for (const RowClass& each : kRowClasses) {
    ProductRows fitted;
    for (const ProductRow& row : rows_of(samples, precision, each, brief))
      (row.held_out ? left_out : fitted).push_back(row);
    if (fitted.size() < kFewestProducts) return std::nullopt;
    fitted_rows += fitted.size();
    const cost::ProductsOfRows numbers = fit_rows(thinned(fitted, kMostProducts), each.knot);
    law.knots.push_back(numbers);
    before += misfit_of(fitted, 0, 1);
    after += misfit_of(fitted, numbers.launch.value(), numbers.factor);
  }
  if (after >= (1 - kLeastGain) * before) return std::nullopt;
  law.evidence = evidence("", fitted_rows, outcomes_of(left_out, law));
  if (law.evidence.median_error > kWorstMedian) return std::nullopt;
  return law;
}

}  // namespace foretoken::fit

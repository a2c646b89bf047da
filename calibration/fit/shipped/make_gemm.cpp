// Makes laws of matrix products from recipes.
#include <fmt/format.h>

#include <algorithm>

#include "calibration/fit/laws/fit_gemm.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/shipped/factors.h"
#include "calibration/fit/shipped/fitting.h"
#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

double in_gb_per_s(BytesPerSecond rate) { return rate.value() / 1e9; }

cost::TileWaveLaw& tiles_of(cost::GemmLaw& law, const Place& place) {
  if (auto* tiles = std::get_if<cost::TileWaveLaw>(&law.law)) return *tiles;
  refuse(place, "expected a tile-and-wave law to begin as, found a roofline");
}

/// Returns a law of this GPU's datasheet, before any fit. Products with a scale for each block run at the rate of fp8.
cost::GemmLaw at_datasheet(const Recipe& recipe, Precision precision, const Place& place) {
  const bool blocks = precision == Precision::kFp8Block && !recipe.gpu.peak_of(precision);
  const auto peak = recipe.gpu.peak_of(blocks ? Precision::kFp8 : precision);
  if (!peak) refuse(place, fmt::format("the GPU file of {} has no {} peak", recipe.gpu.name, name_of(precision)));
  return {.law = cost::TileWaveLaw{.peak = *peak, .multiprocessors = recipe.gpu.streaming_multiprocessors}};
}

/// Returns another GPU's law at the rates of this GPU: this GPU's peak and multiprocessors, and the same part of its
/// memory bandwidth.
void rescale(cost::TileWaveLaw& law, const Recipe& recipe, Precision precision, const net::Gpu& other,
             const Place& place) {
  const auto own = std::get<cost::TileWaveLaw>(at_datasheet(recipe, precision, place).law);
  law.peak = own.peak;
  law.multiprocessors = own.multiprocessors;
  law.memory_bandwidth = BytesPerSecond(rounded(
      law.memory_bandwidth.value() * in_gb_per_s(recipe.gpu.memory_bandwidth) / in_gb_per_s(other.memory_bandwidth)));
}

/// Grouped products keep their parts of the peak and of the memory bandwidth.
void rescale(cost::GroupedLaw& law, const Recipe& recipe, const net::Gpu& other) {
  law.memory_bandwidth = BytesPerSecond(rounded(
      law.memory_bandwidth.value() * in_gb_per_s(recipe.gpu.memory_bandwidth) / in_gb_per_s(other.memory_bandwidth)));
  law.evidence = scaled_from(other.name, "grouped products, by the datasheets' rates");
}

/// Gives the compute of a law at the speed of long runs the speed of brief ones, and the factor between them.
void split_speed(cost::TileWaveLaw& law, double factor) {
  law.efficiency = rounded(law.efficiency * factor / law.sustained_factor, 5);
  law.sustained_factor = factor;
}

cost::GemmLaw begin(const Recipe& recipe, const GemmRecipe& gemm, Precision precision, Fitting& fitting) {
  if (!gemm.start) return at_datasheet(recipe, precision, gemm.place);
  const GemmStart& start = *gemm.start;
  const FromProfile from{start.profile.value_or(recipe.name), start.place};
  cost::GemmLaw law = fitting.gemm(from, start.precision);
  if (start.profile) {
    const net::Gpu other = fitting.datasheet(from);
    rescale(tiles_of(law, start.place), recipe, precision, other, start.place);
    if (law.grouped) rescale(*law.grouped, recipe, other);
  }
  if (!start.with_corrections) law.corrections = {};
  if (start.long_runs) split_speed(tiles_of(law, start.place), 1);
  return law;
}

void state(cost::TileWaveLaw& law, const StatedLaw& stated, const Recipe& recipe) {
  law.peak = stated.peak.value_or(law.peak);
  law.multiprocessors = stated.multiprocessors.value_or(law.multiprocessors);
  law.efficiency = stated.efficiency.value_or(law.efficiency);
  law.prologue_k = stated.prologue_k.value_or(law.prologue_k);
  law.small_tile_loss = stated.small_tile_loss.value_or(law.small_tile_loss);
  law.launch = stated.launch.value_or(law.launch);
  if (stated.memory_efficiency)
    law.memory_bandwidth = gigabytes_per_second(*stated.memory_efficiency * in_gb_per_s(recipe.gpu.memory_bandwidth));
}

/// Returns the time of weight gradients over the time of other products, both relative to the law. Corrections that
/// were fitted on forward products do not apply to the layout of weight gradients.
double weight_gradient_of_rows(const Recipe& recipe, const FactorOfRows& factor, Precision precision, cost::GemmLaw law,
                               const Tables& tables) {
  law.weight_gradient_factor = 1;
  const auto products = tables.products(recipe, factor.rows, precision);
  std::vector<measured::GemmSample> weights, others;
  for (const measured::GemmSample& product : products)
    (product.shape.pass == GemmPass::kWeightGradient ? weights : others).push_back(product);
  return rounded(median_over_law(weights, factor, law) / median_over_law(others, factor, law), 3);
}

void set_factors(cost::GemmLaw& law, const Recipe& recipe, const GemmRecipe& gemm, Precision precision,
                 Fitting& fitting) {
  if (const auto& sustained = gemm.sustained) {
    double& value = tiles_of(law, gemm.place).sustained_factor;
    if (const auto* number = std::get_if<double>(&*sustained)) value = *number;
    if (const auto* from = std::get_if<FromProfile>(&*sustained)) value = sustained_of(*from, precision, fitting);
    if (const auto* factor = std::get_if<FactorOfRows>(&*sustained)) {
      const auto products = fitting.tables().products(recipe, factor->rows, precision);
      value = rounded(median_over_law(products, *factor, law), 3);
    }
    if (const auto* own = std::get_if<FactorOfProducts>(&*sustained))
      value = sustained_of({recipe.name, recipe.place}, own->precision, fitting);
  }
  if (const auto& weights = gemm.weight_gradient) {
    if (const auto* number = std::get_if<double>(&*weights)) law.weight_gradient_factor = *number;
    if (const auto* from = std::get_if<FromProfile>(&*weights))
      law.weight_gradient_factor = fitting.gemm(*from, precision).weight_gradient_factor;
    if (const auto* factor = std::get_if<FactorOfRows>(&*weights))
      law.weight_gradient_factor = weight_gradient_of_rows(recipe, *factor, precision, law, fitting.tables());
  }
}

cost::GemmLaw fit_rows_of(const Recipe& recipe, const GemmRecipe& gemm, Precision precision, cost::GemmLaw law,
                          const Tables& tables) {
  const auto products = tables.products(recipe, gemm.fit->rows, precision);
  if (steady_count(products) == 0)
    refuse(gemm.fit->rows.place,
           "no product with m of at least 128 and a multiple of 64, n and k of at least 64 among "
           "these rows: nothing to fit the law on");
  split_speed(tiles_of(law, gemm.place), 1);  // rows have the clock that they have
  const GemmFit fit{.start = tiles_of(law, gemm.place),
                    .memory_and_launch = gemm.fit->memory_and_launch,
                    .correct = gemm.fit->corrections};
  cost::GemmLaw fitted = fit_gemm(products, fit, gemm.evidence.source);
  const bool weights = std::any_of(products.begin(), products.end(), [](const measured::GemmSample& product) {
    return product.shape.pass == GemmPass::kWeightGradient;
  });
  if (!weights) fitted.weight_gradient_factor = law.weight_gradient_factor;
  if (const auto& brief = gemm.fit->brief) {
    const auto runs = tables.products(recipe, brief->rows, precision);
    split_speed(tiles_of(fitted, gemm.place), rounded(1 / median_over_law(runs, *brief, fitted), 3));
  }
  return fitted;
}

}  // namespace

double sustained_of(const FromProfile& from, Precision precision, Fitting& fitting) {
  return std::visit([](const auto& law) { return law.sustained_factor; }, fitting.gemm(from, precision).law);
}

cost::GemmLaw make_gemm(const Recipe& recipe, Precision precision, Fitting& fitting) {
  const GemmEntry& entry = recipe.gemm.at(precision);
  if (const auto* other = std::get_if<Precision>(&entry)) return fitting.gemm({recipe.name, recipe.place}, *other);
  const GemmRecipe& gemm = std::get<GemmRecipe>(entry);
  cost::GemmLaw law = begin(recipe, gemm, precision, fitting);
  state(tiles_of(law, gemm.place), gemm.stated, recipe);
  if (gemm.fit)
    law = fit_rows_of(recipe, gemm, precision, law, fitting.tables());
  else
    law.evidence = gemm.evidence;
  set_factors(law, recipe, gemm, precision, fitting);
  return law;
}

}  // namespace foretoken::fit

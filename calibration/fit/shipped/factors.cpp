// Computes factors as medians of measured time over the law's time.
#include "calibration/fit/shipped/factors.h"

#include <algorithm>
#include <cstddef>

#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

double middle_of(std::vector<double> ratios, const Place& place) {
  if (ratios.empty()) refuse(place, "no row can be used: expected rows of each wanted pass that last long enough");
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

}  // namespace

double median_over_law(const std::vector<measured::GemmSample>& products, const FactorOfRows& recipe,
                       cost::GemmLaw law) {
  if (!recipe.corrected) law.corrections = {};
  cost::Profile profile;
  if (!products.empty()) profile.gemm[products.front().shape.precision] = law;
  std::vector<double> ratios;
  for (const measured::GemmSample& product : products) {
    const GemmShape& s = product.shape;
    if (product.time.median < recipe.shortest || std::min({s.m, s.n, s.k}) < recipe.least_dimension) continue;
    ratios.push_back(product.time.median.value() / cost::gemm_time(s, profile).value());
  }
  return middle_of(std::move(ratios), recipe.rows.place);
}

double median_over_law(const std::vector<measured::AttentionSample>& kernels, const FactorOfRows& recipe,
                       const cost::AttentionLaws& laws) {
  if (recipe.least_dimension > 0 || recipe.corrected)
    refuse(recipe.rows.place, "expected neither \"least_dimension\" nor \"corrected\": they are of products");
  cost::Profile profile;
  profile.attention = laws;
  std::vector<double> ratios;
  for (const measured::AttentionSample& kernel : kernels)
    if (kernel.time.median >= recipe.shortest)
      ratios.push_back(kernel.time.median.value() / cost::attention_time(kernel.shape, profile).value());
  return middle_of(std::move(ratios), recipe.rows.place);
}

}  // namespace foretoken::fit

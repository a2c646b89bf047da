// Times products by an engine's own kernels.
#include "sim/cost/kernels/engine_products.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/check.h"

namespace foretoken::cost {

ProductsOfRows products_of_rows(std::int64_t rows, const EngineProductsLaw& law) {
  expects(rows >= 1 && !law.knots.empty(), "a product has rows, and a law a knot");
  const auto above = std::ranges::find_if(law.knots, [&](const ProductsOfRows& knot) { return knot.rows >= rows; });
  if (above == law.knots.begin()) return law.knots.front();
  if (above == law.knots.end()) return law.knots.back();
  const ProductsOfRows& below = *std::prev(above);
  const double part = std::log(real(rows) / real(below.rows)) / std::log(real(above->rows) / real(below.rows));
  return {.rows = rows,
          .launch = below.launch + part * (above->launch - below.launch),
          .factor = std::lerp(below.factor, above->factor, part)};
}

Seconds engine_product_time(Seconds by_profile, std::int64_t rows, const EngineProductsLaw& law) {
  const ProductsOfRows numbers = products_of_rows(rows, law);
  return numbers.launch + numbers.factor * by_profile;
}

}  // namespace foretoken::cost

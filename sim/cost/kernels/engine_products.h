// The times of matrix products by an engine's own kernels, where a profile was fitted on another library's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// Products of so many rows (m): t = launch + factor times the profile's time.
struct ProductsOfRows {
  std::int64_t rows = 1;
  Seconds launch{};
  double factor = 1;
};

/// One engine's products in one precision.
struct EngineProductsLaw {
  std::vector<ProductsOfRows> knots{};  ///< with rising rows, one or more
  Evidence evidence{};
};

/// The laws of a GPU by the engine (trt-llm, vllm, sglang) and by the precision of the operands.
using EngineProducts = std::map<std::string, std::map<Precision, EngineProductsLaw>, std::less<>>;

/// Returns the numbers for so many rows: linear in log(rows) between the knots, and constant beyond the ends.
/// Precondition: `rows` is positive, and the law has a knot.
[[nodiscard]] ProductsOfRows products_of_rows(std::int64_t rows, const EngineProductsLaw& law);

/// Returns the time of a product that takes `by_profile` by the profile, without the quantisation of its input.
[[nodiscard]] Seconds engine_product_time(Seconds by_profile, std::int64_t rows, const EngineProductsLaw& law);

}  // namespace foretoken::cost

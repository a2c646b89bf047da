// The correction of a GEMM law: the place of a shape on its grid, and the factor on the law's time.
#pragma once

#include <array>

#include "sim/base/kernel.h"
#include "sim/cost/kernels/gemm_law.h"

namespace foretoken::cost {

/// The eight knots around a shape with their weights, which sum to 1.
struct GridPlace {
  std::array<int, 8> knot{};
  std::array<double, 8> weight{};
  double trust = 1;  ///< 1 inside the sampled range, falling to 0 two octaves outside
};

/// Returns the place of a shape. Precondition: every axis has at least two knots and a positive length; dimensions >=
/// 1.
[[nodiscard]] GridPlace place_on_grid(const GemmCorrection& grid, const GemmShape& shape);

/// Returns measured / law at `shape`, or 1 without a correction.
[[nodiscard]] double correction_factor(const GemmCorrection& grid, const GemmShape& shape);

}  // namespace foretoken::cost

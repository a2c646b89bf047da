// The correction of a GEMM law: the place of a shape on its grid, and the factor on the law's time.
#pragma once

#include <array>
#include <cstdint>

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

/// Returns the tiles that cover the outputs of a batch of products.
[[nodiscard]] constexpr std::int64_t tiles_of(const GemmShape& shape, std::int64_t rows, std::int64_t columns) {
  return shape.batch * ((shape.m + rows - 1) / rows) * ((shape.n + columns - 1) / columns);
}

/// A place on a line of waves: the knot before it, and the part of the way to the next knot.
struct WavePlace {
  int knot;
  double beyond;
};

/// Returns the place of a shape on the line of each tile. Fewer than 1/2 or more than 16 waves count as these.
[[nodiscard]] std::array<WavePlace, kWaveTiles.size()> places_on_lines(const GemmShape& shape, int processors);

/// Returns measured / law at `shape`, or 1 without a correction. Waves are counted on `processors`, as the law counts
/// them.
[[nodiscard]] double correction_factor(const GemmCorrection& grid, const GemmShape& shape, int processors);

}  // namespace foretoken::cost

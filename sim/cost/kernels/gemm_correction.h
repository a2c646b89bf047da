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

/// A place on a line of waves: the knot before it, and the part of the way to the next knot.
struct WavePlace {
  int knot;
  double beyond;
};

/// Returns the place of a shape on the line of each tile. Fewer than 1/2 or more than 16 waves count as these.
[[nodiscard]] std::array<WavePlace, kWaveTiles.size()> places_on_lines(const GemmShape& shape, int multiprocessors);

/// Returns measured / law at `shape`, or 1 without a correction. The law counts waves on `multiprocessors`.
[[nodiscard]] double correction_factor(const GemmCorrection& grid, const GemmShape& shape, int multiprocessors);

}  // namespace foretoken::cost

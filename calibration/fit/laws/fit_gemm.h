// Fits the tile-and-wave law on measured matrix products.
#pragma once

#include "calibration/fit/numerics/residuals.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Which constants move; the others keep their value of `start`.
struct GemmFit {
  cost::TileWaveLaw start;
  bool memory_and_launch = true;  ///< false: the samples say nothing of them (all compute-bound)
  bool correct = true;            ///< false: the law alone, without a grid of what it misses
  bool fine = false;              ///< a full table: tries fine tiles with soft waves, and corrects on a finer grid
  double loyalty = 0;             ///< mean log error that must be gained for leaving bandwidth and launch by a factor e
};

/// What decides whether a product is held out.
[[nodiscard]] std::string held_out_key(const measured::GemmSample& product);

/// How many of the products would enter the fit of the constants: those that training runs, less the held-out ones.
[[nodiscard]] std::size_t steady_count(const std::vector<measured::GemmSample>& samples);

/// What was held out of a fit, beside the law's predictions: products with m, n, k >= `least`.
[[nodiscard]] std::vector<Outcome> held_out_outcomes(const std::vector<measured::GemmSample>& samples,
                                                     const cost::GemmLaw& law, std::int64_t least);

/// Robust fit (mean absolute log error). The constants come from products that training runs, m >= 128 and a multiple
/// of 64, n, k >= 64; the factor of weight gradients and the
/// corrections of each layout from all. One sample in five is held out. Samples have one precision.
/// Precondition: steady_count() >= 1.
[[nodiscard]] cost::GemmLaw fit_gemm(const std::vector<measured::GemmSample>& samples, const GemmFit& fit,
                                     std::string source);

/// For a GPU without a datasheet: the number of multiprocessors, among those of known GPUs, whose waves explain the
/// products best; that of `start` when the products decide nothing. Precondition: steady_count() >= 1.
[[nodiscard]] int likely_multiprocessors(const std::vector<measured::GemmSample>& samples,
                                         const cost::TileWaveLaw& start);

}  // namespace foretoken::fit

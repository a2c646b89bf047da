// Fits the tile-and-wave law on measured matrix products.
#pragma once

#include "calibration/fit/numerics/residuals.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Says which constants are fitted. The others keep their value of `start`.
struct GemmFit {
  cost::TileWaveLaw start;
  bool memory_and_launch = true;  ///< false when all samples are compute-bound and show neither
  bool correct = true;            ///< also fits a grid of the law's errors
  bool fine = false;              ///< for a full table: tries fine tiles with soft waves, and corrects on a finer grid
  bool lines = true;              ///< beside a finer grid: corrects by waves, too
  double loyalty = 0;  ///< a change of bandwidth or launch by a factor e must lower the mean log error by this
};

/// Returns the key that decides whether a product is held out.
[[nodiscard]] std::string held_out_key(const measured::GemmSample& product);

/// Returns the number of products that would enter the fit of the constants: products of training that are not held
/// out.
[[nodiscard]] std::size_t steady_count(const std::vector<measured::GemmSample>& samples);

/// Returns the held-out products with m, n, k >= `least`, beside the law's predictions.
[[nodiscard]] std::vector<Outcome> held_out_outcomes(const std::vector<measured::GemmSample>& samples,
                                                     const cost::GemmLaw& law, std::int64_t least);

/// Fits the law by the mean absolute log error, which is robust. The constants come from products of training: m >= 128
/// and a multiple of 64, n, k >= 64. All products give the factor of weight gradients and the corrections of each
/// layout. One sample in five is held out. Samples have one precision. Precondition: steady_count() >= 1.
[[nodiscard]] cost::GemmLaw fit_gemm(const std::vector<measured::GemmSample>& samples, const GemmFit& fit,
                                     std::string source);

/// Guesses the multiprocessors of a GPU without a datasheet. Of the numbers that known GPUs have, returns the one whose
/// waves explain the products best, or the number of `start` when the products do not decide.
/// Precondition: steady_count() >= 1.
[[nodiscard]] int likely_multiprocessors(const std::vector<measured::GemmSample>& samples,
                                         const cost::TileWaveLaw& start);

}  // namespace foretoken::fit

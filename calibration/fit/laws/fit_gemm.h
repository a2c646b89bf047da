// Fits the tile-and-wave law on measured matrix products.
#pragma once

#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/recipes/samples.h"
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

/// How many of the products would enter the fit of the constants: those that training runs, less the held-out ones.
[[nodiscard]] std::size_t steady_count(const std::vector<GemmSample>& samples);

/// What was held out of a fit, beside the law's predictions: products with m, n, k >= `least`.
[[nodiscard]] std::vector<Outcome> held_out_outcomes(const std::vector<GemmSample>& samples, const cost::GemmLaw& law,
                                                     std::int64_t least);

/// Robust fit (mean absolute log error). The constants come from products that training runs, m >= 128 and a multiple
/// of 64, n, k >= 64; the factor of weight gradients and the
/// corrections of each layout from all. One sample in five is held out. Samples have one precision.
/// Precondition: steady_count() >= 1.
[[nodiscard]] cost::GemmLaw fit_gemm(const std::vector<GemmSample>& samples, const GemmFit& fit, std::string source);

/// For a GPU without a datasheet: the number of multiprocessors, among those of known GPUs, whose waves explain the
/// products best; that of `start` when the products decide nothing. Precondition: steady_count() >= 1.
[[nodiscard]] int likely_multiprocessors(const std::vector<GemmSample>& samples, const cost::TileWaveLaw& start);

/// The products of an operator table's system that are no weight gradients, as forward ones.
[[nodiscard]] std::vector<GemmSample> forward_products(const std::vector<OperatorSample>& operators,
                                                       const std::string& system);

/// Median of measured / law, without corrections, over products that ran 16 ms and longer, all dimensions 1024 and
/// more: what the power limit costs a GPU that is busy for longer than the law's short benchmarks.
[[nodiscard]] double long_run_factor(const std::vector<GemmSample>& samples, cost::GemmLaw law);

/// The same over an operator table's fused attention of 16 ms and more, head dimension 128 as the laws were fitted.
[[nodiscard]] double long_attention_factor(const std::vector<OperatorSample>& operators, const std::string& system,
                                           const cost::AttentionLaws& attention);

/// Median of measured / predicted over an operator table's products, weight gradients or all others, that last at
/// least `shortest_s`.
[[nodiscard]] double median_ratio(const std::vector<OperatorSample>& operators, const std::string& system,
                                  bool weight_gradients, double shortest_s, const cost::GemmLaw& law);

}  // namespace foretoken::fit

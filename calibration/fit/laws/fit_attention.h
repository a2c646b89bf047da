// Fits the rate laws of fused attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/recipes/published.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Which kernels a direction is fitted on.
struct DirectionFit {
  bool backward = false;
  int multiprocessors = 1;
  std::optional<double> half_length{};  ///< known beforehand; nothing: it moves too
};

/// One direction of causal attention. One kernel in five is held out.
/// Precondition: has_fitted_kernels().
[[nodiscard]] cost::AttentionRate fit_direction(const std::vector<measured::AttentionSample>& kernels,
                                                const DirectionFit& fit, cost::Evidence& evidence);

/// Whether one of the direction's kernels is not held out.
[[nodiscard]] bool has_fitted_kernels(const std::vector<measured::AttentionSample>& kernels, bool backward);

/// One bar of a series: the forward shape, and the seconds of what the series measures (one half or both).
struct AttentionPoint {
  AttentionShape shape;
  double seconds;
};

/// The bars that could be read.
[[nodiscard]] std::vector<AttentionPoint> points_of(const AttentionSeries& series);

/// What a series cannot tell and other measurements must.
struct AttentionGivens {
  double forward_over_backward = 1;  ///< how much faster, per operation, forward is; for series of both together
  double forward_tail = 0, backward_tail = 0;
  int multiprocessors = 1;
};

/// Weight of |log sharpness| in the mean error that fits of attention minimise: a sharpness other than 1 must earn it.
/// Chosen by leaving out one point at a time of the 20 published series (docs/modeller/costs.md).
inline constexpr double kSharpnessPrice = 0.01;
inline constexpr double kMostSharpness = 4;

/// exp(log_sharpness) within what kernels show.
[[nodiscard]] double sharpness_at(double log_sharpness);

/// The points of `series`, each times the ratio of the rates of `over` and `under` at its length: a guess at a series
/// that nobody measured. Points that one of them lacks are missing.
[[nodiscard]] AttentionSeries in_proportion(AttentionSeries series, const AttentionSeries& over,
                                            const AttentionSeries& under);

/// Peak rate, half length and sharpness of one series; a series of one half leaves the other's rate zero. A series has
/// half a dozen points: the law is fitted on all, its errors are those of each point predicted by a fit without it.
[[nodiscard]] cost::AttentionLaw fit_series(const AttentionSeries& series, const AttentionGivens& givens,
                                            std::string source);

}  // namespace foretoken::fit

// Fits the rate laws of fused attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// The fit of one direction, forward or backward.
struct DirectionFit {
  bool backward = false;
  int multiprocessors = 1;
  std::optional<double> half_length{};  ///< known beforehand; nothing when it is fitted, too
};

/// Fits one direction of causal attention. One kernel in five is held out.
/// Precondition: has_fitted_kernels().
[[nodiscard]] cost::AttentionRate fit_direction(const std::vector<measured::AttentionSample>& kernels,
                                                const DirectionFit& fit, cost::Evidence& evidence);

/// Returns true when at least one of the direction's kernels is not held out.
[[nodiscard]] bool has_fitted_kernels(const std::vector<measured::AttentionSample>& kernels, bool backward);

/// One bar of a series: the forward shape, and the seconds of the pass or passes that the series times.
struct AttentionPoint {
  AttentionShape shape;
  double seconds;
};

/// Returns the bars that could be read.
[[nodiscard]] std::vector<AttentionPoint> points_of(const AttentionSeries& series);

/// Numbers that a series does not show. They come from other measurements.
struct AttentionGivens {
  /// Speed of forward per operation, relative to backward. Only series that time both passes together use it.
  double forward_over_backward = 1;
  double forward_tail = 0, backward_tail = 0;
  int multiprocessors = 1;
};

/// Weight of |log sharpness| in the mean error that fits of attention minimise, so that a sharpness other than 1 must
/// earn it. Chosen by leaving out one point at a time of the 20 published series (docs/modeller/costs.md).
inline constexpr double kSharpnessPrice = 0.01;
inline constexpr double kMostSharpness = 4;

/// Returns exp(log_sharpness), within the range that kernels show.
[[nodiscard]] double sharpness_at(double log_sharpness);

/// Returns the points of `series`, each times the ratio of the rates of `over` and `under` at its length. This
/// estimates a series that nobody measured. Points that one of the two lacks are missing.
[[nodiscard]] AttentionSeries in_proportion(AttentionSeries series, const AttentionSeries& over,
                                            const AttentionSeries& under);

/// Fits peak rate, half length and sharpness of one series. A series of one half leaves the other's rate zero. A series
/// has half a dozen points, so the law is fitted on all of them. Its errors are the errors of each point predicted by a
/// fit without it.
[[nodiscard]] cost::AttentionLaw fit_series(const AttentionSeries& series, const AttentionGivens& givens,
                                            std::string source);

}  // namespace foretoken::fit

// Fits the rate laws of fused attention.
#pragma once

#include "calibration/fit/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// One direction of causal attention, fitted on the kernels of an operator table. `half_length` < 0: free.
[[nodiscard]] cost::AttentionRate fit_direction(const std::vector<OperatorSample>& operators, const std::string& system,
                                                bool backward, int multiprocessors, double half_length,
                                                cost::Evidence& evidence);

/// What a series cannot tell and other measurements must.
struct AttentionGivens {
  double forward_over_backward = 1;  ///< how much faster, per operation, forward is; for series of both together
  double forward_tail = 0, backward_tail = 0;
  int multiprocessors = 1;
};

/// Peak rate and half length of one series; a series of one half leaves the other's rate zero.
[[nodiscard]] cost::AttentionLaw fit_series(const AttentionSeries& series, const AttentionGivens& givens,
                                            std::string source);

}  // namespace foretoken::fit

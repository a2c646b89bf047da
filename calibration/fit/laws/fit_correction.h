// Fits the smooth correction of a GEMM law to its errors on measured products.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/kernels/gemm_law.h"

namespace foretoken::fit {

/// Fits a grid of log(measured / law) for the samples in the layout of `pass`. `law` counts without its corrections.
/// The grid has at most 7 x 6 x 6 knots over the sampled range. With `fine` it has at most 11 x 8 x 8, closest at the
/// sizes of large models. It is smooth where samples are few, and robust against single bad samples. The corrected time
/// never falls with k. Returns an empty grid when the samples span less than an octave in m, n or k.
[[nodiscard]] cost::GemmCorrection fit_correction(const std::vector<measured::GemmSample>& samples, GemmPass pass,
                                                  cost::GemmLaw law, bool fine = false);

}  // namespace foretoken::fit

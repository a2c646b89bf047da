// Fits the smooth correction of a GEMM law to its errors on measured products.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/kernels/gemm_law.h"

namespace foretoken::fit {

/// The grid of log(measured / law) that `law` without corrections leaves on the `samples` of layout `pass`: at most 7 x
/// 6 x 6 knots over the sampled range (`fine`: 11 x 8 x 8, closest at the sizes of large models), smooth where samples
/// are few, robust against single bad ones, time never falling with k. Without samples in all of m, n and k over an
/// octave or more: an empty grid.
[[nodiscard]] cost::GemmCorrection fit_correction(const std::vector<measured::GemmSample>& samples, GemmPass pass,
                                                  cost::GemmLaw law, bool fine = false);

}  // namespace foretoken::fit

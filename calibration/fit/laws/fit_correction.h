// Fits the smooth correction of a GEMM law to its errors on measured products.
#pragma once

#include "calibration/import/samples.h"
#include "sim/cost/kernels/gemm_law.h"

namespace foretoken::fit {

/// The parts of which a correction is made.
struct CorrectionParts {
  bool fine = false;   ///< at most 11 x 8 x 8 knots, closest at the sizes of large models, instead of 7 x 6 x 6
  bool lines = false;  ///< lines over waves, too. The law has tiles
};

/// Fits a grid of log(measured / law) for the samples in the layout of `pass`, over the sampled range. `law` counts
/// without its corrections. It is smooth where samples are few, and robust against single bad samples. The corrected
/// time never falls with k. Returns an empty grid when the samples span less than an octave in m, n or k.
[[nodiscard]] cost::GemmCorrection fit_correction(const std::vector<measured::GemmSample>& samples, GemmPass pass,
                                                  cost::GemmLaw law, CorrectionParts parts = {});

}  // namespace foretoken::fit

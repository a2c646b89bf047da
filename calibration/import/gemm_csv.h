// Tables of matrix products as CSV.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// What the table does not say.
struct GemmCsvHints {
  std::string gpu;
  Precision precision = Precision::kBf16;  ///< where there is no dtype column
  GemmPass pass = GemmPass::kForward;      ///< where there is no layout column
};

/// Columns by name, in any order and case: m, n, k; one of time_us, time_ms, time_s, latency (ms), us, ms, tflops;
/// optional b or batch, dtype or precision, layout (TN, NN, NT), accumulate (true: into fp32). Others are ignored.
///
/// With a column quant_us, products of 8 and 4 bit were timed together with the quantisation of their input. Where that
/// column has a number it is taken off; where it is empty, the sample says so (with_quantisation). Rows of products
/// with 16-bit inputs and narrow weights (int8_wo, int4_wo) are left out.
///
/// Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_gemm_csv(std::string_view text, const std::string& file, const GemmCsvHints& hints = {});

}  // namespace foretoken::measured

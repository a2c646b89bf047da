// Tables of matrix products as CSV.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// What the table does not say, and which of its rows count.
struct GemmCsvHints {
  std::string gpu{};
  Precision precision = Precision::kBf16;  ///< where there is no dtype column
  GemmPass pass = GemmPass::kForward;      ///< where there is no layout column
  RowChoice choice{};                      ///< rows that do not pass are left out unread
  std::string less{};                      ///< a column of time, in the unit of the table's, to take off every row's
  bool states_precision = false;           ///< `precision` holds whatever the dtype column says
  bool states_pass = false;                ///< `pass` holds whatever the layout column says
};

/// Columns by name, in any order and case: m, n, k; one of time_us, time_ms, time_s, latency (ms), us, ms, tflops;
/// optional b or batch, dtype or precision, layout (TN, NN, NT), accumulate (true: into fp32). Others are ignored. A
/// row whose `less` column is empty is left out. Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_gemm_csv(std::string_view text, const std::string& file, const GemmCsvHints& hints = {});

}  // namespace foretoken::measured

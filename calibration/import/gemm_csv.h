// Reads tables of matrix products from CSV.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Facts that the table does not state, and the choice of its rows.
struct GemmCsvHints {
  std::string gpu{};
  Precision precision = Precision::kBf16;  ///< where there is no dtype column
  GemmPass pass = GemmPass::kForward;      ///< where there is no layout column
  RowChoice choice{};                      ///< rows that do not pass are left out unread
  std::string less{};                      ///< a column of time, in the table's unit, that is subtracted from each row
  bool states_precision = false;           ///< `precision` replaces the dtype column
  bool states_pass = false;                ///< `pass` replaces the layout column
};

/// Reads a table of products. Columns have names, in any order and case:
///   m, n, k
///   one of time_us, time_ms, time_s, latency (ms), us, ms, tflops
///   optional: b or batch, dtype or precision, layout (TN, NN, NT), accumulate (true: into fp32)
/// Other columns are ignored. A row whose `less` column is empty is left out.
///
/// A table with a column quant_us times products of 8 and 4 bit together with the quantisation of their input, unless
/// `less` names the column. A number in the column is subtracted. An empty field, or a number that leaves less than a
/// tenth of the time, sets with_quantisation. Rows of type "sq" are int8 products that were timed alone. Products of
/// 16-bit inputs and narrow weights (int8_wo, int4_wo) are left out.
///
/// Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_gemm_csv(std::string_view text, const std::string& file, const GemmCsvHints& hints = {});

}  // namespace foretoken::measured

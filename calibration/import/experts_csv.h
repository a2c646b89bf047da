// Reads tables of whole layers of experts from CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// The experts of one GPU, as an engine of inference runs them forward: the choice of experts, copies of the tokens in
/// expert order, two grouped products with an activation between them, and the weighted sum.
struct ExpertSample {
  std::int64_t tokens = 1, hidden = 1;
  std::int64_t width = 1;  ///< of one expert on this GPU
  std::int64_t per_token = 1, experts = 1;
  bool gated = true;  ///< the first product makes two numbers for each of the width
  Precision precision = Precision::kBf16;
  Seconds time{};

  [[nodiscard]] double rows() const { return static_cast<double>(tokens) * static_cast<double>(per_token); }
  [[nodiscard]] double rows_of_expert() const { return rows() / static_cast<double>(experts); }
};

/// Reads rows of one expert rank (ep is 1) with the columns dtype, tokens, hidden, inter, topk, experts, tp, ep,
/// time_us and kernel. A kernel whose name holds "nongated" is not gated. Throws ConfigError with every wrong row as
/// "FILE:LINE: what".
[[nodiscard]] std::vector<ExpertSample> parse_experts_csv(std::string_view text, const std::string& file,
                                                          const RowChoice& choice = {});

}  // namespace foretoken::measured

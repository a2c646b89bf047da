// Reads tables of whole layers of experts from CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Tables of training have one expert rank, those of serving any number.
enum class ExpertRanks : std::uint8_t { kOne, kAny };

/// Returns true for the first line of a table of layers of experts.
[[nodiscard]] bool is_experts_csv(std::string_view header);

/// Reads rows (of kOne: with ep 1) with the columns dtype, tokens, hidden, inter, topk, experts, tp, ep, time_us and
/// kernel. Of kAny, rows of weights in 4 bits beside wider operands are left out. Experts are not gated where the
/// kernel's name holds "nongated", and in the layers that TensorRT-LLM's tables call so. Throws ConfigError with every
/// wrong row as "FILE:LINE: what".
[[nodiscard]] std::vector<ExpertSample> parse_experts_csv(std::string_view text, const std::string& file,
                                                          const RowChoice& choice = {},
                                                          ExpertRanks ranks = ExpertRanks::kOne);

}  // namespace foretoken::measured

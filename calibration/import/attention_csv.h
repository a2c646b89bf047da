// Reads operator tables of attention from CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Reads SimuMax's operator efficiencies of causal 16-bit attention. The columns are system, op (sdp_fwd or sdp_bwd),
/// tflops and shape. A shape is a text such as "batch=1, seq_len=4096, head_num=32, kv_head_num=32, qk_head_dim=128,
/// v_head_dim=128". The published rate counts the full square of a causal kernel. Rows of other ops, of values with
/// another width than the keys, and of inputs that are not contiguous are left out. `implementation` becomes the
/// system. Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] std::vector<AttentionSample> parse_attention_operators(std::string_view text, const std::string& file,
                                                                     const RowChoice& choice = {});

}  // namespace foretoken::measured

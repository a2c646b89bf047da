// Operator tables of attention as CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// SimuMax's operator efficiencies: columns system, op (sdp_fwd or sdp_bwd; others are left out), tflops, and shape, a
/// text such as "batch=1, seq_len=4096, head_num=32, kv_head_num=32, qk_head_dim=128, v_head_dim=128". Causal, 16 bit.
/// The published rate counts the full square of a causal kernel. Values of another width than the keys are left out,
/// and so are inputs that do not lie one behind the other. `implementation` is the system. Throws ConfigError with
/// every wrong row as "FILE:LINE: what".
[[nodiscard]] std::vector<AttentionSample> parse_attention_operators(std::string_view text, const std::string& file,
                                                                     const RowChoice& choice = {});

}  // namespace foretoken::measured

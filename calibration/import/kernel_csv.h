// Tables of attention and of quantisation as CSV.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Whether a table with this header holds attention (a column attn_dtype) or quantisation (columns m, k, cast_us).
[[nodiscard]] bool is_kernel_csv(std::string_view header);

/// Attention forward: columns attn_dtype, batch, seq, heads, head_dim, time_us; with kv_heads (and window) it is causal
/// and writes keys and values into a cache in the same time; without, every query sees every key. Other columns but
/// `kernel` are ignored; rows of Triton kernels, and of 16-bit attention over 8-bit keys, are left out.
///
/// Quantisation of 16-bit tensors of m x k to 8 bit: columns m, k, cast_us (known scale) and amax_us (what looking for
/// the scale adds; 0: fused). Rows that do not pass `choice` are left out unread. Throws ConfigError with every wrong
/// row as "FILE:LINE: what".
[[nodiscard]] Samples parse_kernel_csv(std::string_view text, const std::string& file, const RowChoice& choice = {});

}  // namespace foretoken::measured

// Reads tables of attention and of quantisation from CSV.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Returns true when the header is of a table of attention (column attn_dtype) or quantisation (columns m, k, cast_us).
[[nodiscard]] bool is_kernel_csv(std::string_view header);

/// Reads one of two kinds of tables.
///
/// Forward attention has the columns attn_dtype, batch, seq, heads, head_dim, time_us. With a column kv_heads it is
/// causal, and its time includes writing keys and values into a cache. It may then have a column window. Without
/// kv_heads, every query sees every key. A column kernel names the kernel; rows of Triton kernels are left out, and so
/// are rows of 16-bit attention over 8-bit keys. Other columns are ignored.
///
/// Quantisation of 16-bit tensors of m x k to 8 bit has the columns m, k, cast_us and amax_us. cast_us is the time with
/// a known scale. amax_us is the time that finding the scale adds, or 0 when it is fused.
///
/// Rows that do not pass `choice` are left out unread. Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_kernel_csv(std::string_view text, const std::string& file, const RowChoice& choice = {});

}  // namespace foretoken::measured

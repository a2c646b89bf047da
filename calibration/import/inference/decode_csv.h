// Reads tables of decode attention and of an engine's own all-reduce from CSV.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Returns true when the header is of a table of decode attention (columns kv_len and kv_dtype) or of all-reduces
/// (columns implementation, ranks and bytes).
[[nodiscard]] bool is_decode_csv(std::string_view header);

/// Reads one of three kinds of tables. Each has a column time_us.
///
/// Decode attention has the columns kv_dtype, batch, kv_len, heads, kv_heads, head_dim, and may have window. Rows of
/// Triton kernels are left out. Attention over latent vectors has mla_dtype instead of kv_heads and head_dim; its
/// vectors have 576 numbers, as DeepSeek's. An all-reduce has the columns implementation, ranks and bytes. Rows whose
/// implementation ends with _eager are left out, because their time is the host's.
///
/// Rows that do not pass `choice` are left out unread. Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_decode_csv(std::string_view text, const std::string& file, const RowChoice& choice = {});

}  // namespace foretoken::measured

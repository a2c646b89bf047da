// Reads tables of exchanges of tokens with experts from CSV.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/csv.h"
#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Returns true when the header is of DeepEP (columns dispatch_us, combine_us) or of TensorRT-LLM's exchanges (columns
/// implementation, phase, ep).
[[nodiscard]] bool is_exchange_csv(std::string_view header);

/// Reads one of two kinds of tables. Every row gives tokens (of one rank), hidden, topk and experts.
///
/// DeepEP has the columns nodes, gpus_per_node, dispatch_us and combine_us. With dispatch_sms and combine_sms the
/// kernels are the normal ones, without them those of low latency. Tokens are sent in fp8 with a scale for each 128
/// elements, and combined in bf16. Experts are random; normal kernels between nodes send a token to at most four
/// nodes. nic_gb_per_s is the rate of one rank's NIC, 50 where there is no such column.
///
/// TensorRT-LLM has the columns implementation (NVLinkOneSided or NVLinkTwoSided), phase (prepare, dispatch, combine or
/// combine_low_precision), dtype of dispatched tokens, ep, distribution and time_us. Balanced experts are spread over
/// as many ranks as a token has experts, all others are random.
///
/// Rows that do not pass `choice` are left out unread. Throws ConfigError with every wrong row as "FILE:LINE: what".
[[nodiscard]] Samples parse_exchange_csv(std::string_view text, const std::string& file, const RowChoice& choice = {});

}  // namespace foretoken::measured

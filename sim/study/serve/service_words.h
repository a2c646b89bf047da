// A question about serving in words, for text and for pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/serve/predict.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::study {

/// Returns the degrees of an instance and how many there are: "tensor 4 x pipeline 2, 2 instances".
[[nodiscard]] std::string pool_words(const serve::Pool& pool);

/// Returns "1024 tokens in, 256 out", or "384 tokens each" of an encoder, with the spread of lengths and the prefix.
[[nodiscard]] std::string lengths_words(const serve::Requests& requests);

/// Returns who asks: "640 requests by 64 users at once: 1024 tokens in, 256 out".
[[nodiscard]] std::string arrivals_words(const serve::Requests& requests);

/// Returns the stated limits: " TTFT 500 ms and TPOT 30 ms".
[[nodiscard]] std::string service_limits_words(const serve::Limits& limits);

/// Returns properties that few services have, each as a few words: a narrow cache, speculation, an uneven load of
/// experts.
[[nodiscard]] std::vector<std::string> special_words(const serve::Service& service);

/// Returns the whole question as labels and words.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> question_rows(const serve::Service& service);

/// Returns the requests that the memory of a pool holds at once: "342 requests of these lengths at once, or one of
/// 437,872 tokens". Of several instances it says each and all.
[[nodiscard]] std::string room_words(const serve::Memory& memory, const serve::Pool& pool);

/// Returns a quantity with its unit: "16.0 ms", "1,933 tokens/s".
[[nodiscard]] std::string quantity_words(trust::Served quantity, double value);

/// Returns the two ends of an interval: "31.2 ms to 173 ms".
[[nodiscard]] std::string interval_words(trust::Served quantity, const trust::ServedInterval& interval);

[[nodiscard]] std::string_view short_name(trust::Served quantity);  ///< "TTFT", "TPOT", "latency", "throughput"

/// Returns the nearest published value and its prediction: "vLLM 0.12.0, ...: TTFT 110 ms measured, 120 ms predicted".
[[nodiscard]] std::string nearest_words(const trust::ServedCase& nearest);

/// Returns each assumption and the source of each number of the engine.
[[nodiscard]] std::vector<std::string> sources_of(const serve::Service& service);

}  // namespace foretoken::study

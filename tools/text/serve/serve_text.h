// The answer of `foretoken serve`: one screen of text, one line of JSON, or a trace of its passes.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sim/report/text/layout.h"
#include "sim/serve/predict.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::tools {

[[nodiscard]] std::string serve_text(const serve::Service& service, const serve::Prediction& prediction,
                                     const study::ServiceTrust& trusted, const report::Paint& paint);

/// Writes the degrees of an instance and how many there are: "tensor 4 x pipeline 2, 2 instances".
[[nodiscard]] std::string pool_words(const serve::Pool& pool);

/// Returns "1024 tokens in, 256 out", or "384 tokens each" of an encoder.
[[nodiscard]] std::string lengths_words(const serve::Requests& requests);

/// Writes who asks: "64 users at once, 640 requests: 1024 tokens in, 256 out".
[[nodiscard]] std::string arrivals_words(const serve::Requests& requests);

/// Writes the stated limits: " TTFT 500 ms TPOT 30 ms".
[[nodiscard]] std::string service_limits_words(const serve::Limits& limits);

/// Returns degrees as a question states them.
[[nodiscard]] nlohmann::ordered_json degrees_json(const serve::Degrees& degrees);

/// Returns a pool: its GPUs, instances and degrees.
[[nodiscard]] nlohmann::ordered_json pool_json(const serve::Pool& pool);

/// Returns times, rates, cost and energy. Those of a service that does not fit are null.
[[nodiscard]] nlohmann::ordered_json answer_json(const serve::Prediction& prediction);

/// Returns mean, P50 and P99.
[[nodiscard]] nlohmann::ordered_json spread_json(const serve::Spread& spread);

/// Writes one line of JSON (docs/user/serve.md). Numbers of a service that does not fit are null.
[[nodiscard]] std::string serve_json(const serve::Service& service, const serve::Prediction& prediction,
                                     const study::ServiceTrust& trusted);

/// Writes passes, batch, queue and cache as a Chrome trace, piece by piece.
void write_serve_trace(const serve::Service& service, const serve::Prediction& prediction,
                       const std::function<void(std::string_view)>& write);

}  // namespace foretoken::tools

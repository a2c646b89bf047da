// The answer of `foretoken serve`: one screen of text, one line of JSON, or a trace of its passes.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/text/layout.h"
#include "sim/report/text/summary.h"
#include "sim/serve/predict.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::tools {

/// A prediction with its question and how far it may be trusted.
struct ServeAnswer {
  const serve::Service& service;
  const serve::Prediction& prediction;
  const study::ServiceTrust& trusted;
};

/// The form of the text: everything, or one screen that ends with commands to run next.
struct ServeRemarks {
  bool details = false;
  std::vector<report::Hint> hints{};
};

/// Writes one screen of at most 25 lines of at most 80 columns, or with `details` every number and assumption.
[[nodiscard]] std::string serve_text(const ServeAnswer& answer, const ServeRemarks& remarks,
                                     const report::Paint& paint);

/// Returns degrees as a question states them.
[[nodiscard]] nlohmann::ordered_json degrees_json(const serve::Degrees& degrees);

/// Returns a pool: its GPUs, instances and degrees.
[[nodiscard]] nlohmann::ordered_json pool_json(const serve::Pool& pool);

/// Returns times, rates, cost and energy. Those of a service that does not fit are null.
[[nodiscard]] nlohmann::ordered_json answer_json(const serve::Prediction& prediction);

/// Returns mean, P50 and P99.
[[nodiscard]] nlohmann::ordered_json spread_json(const serve::Spread& spread);

/// Returns the 90 % intervals of means by quantity; null where nobody has published it.
[[nodiscard]] nlohmann::ordered_json interval_json(const study::ServiceTrust& trusted);

/// Returns the nearest published value; null without one.
[[nodiscard]] nlohmann::ordered_json nearest_json(const study::ServiceTrust& trusted);

/// Writes one line of JSON (docs/user/serve.md). Numbers of a service that does not fit are null.
[[nodiscard]] std::string serve_json(const serve::Service& service, const serve::Prediction& prediction,
                                     const study::ServiceTrust& trusted);

/// Writes passes, batch, queue and cache as a Chrome trace, piece by piece.
void write_serve_trace(const serve::Service& service, const serve::Prediction& prediction,
                       const std::function<void(std::string_view)>& write);

}  // namespace foretoken::tools

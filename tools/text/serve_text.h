// The answer of `foretoken serve`: one screen of text, one line of JSON, or a trace of its passes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/report/text/layout.h"
#include "sim/serve/predict.h"

namespace foretoken::tools {

[[nodiscard]] std::string serve_text(const serve::Service& service, const serve::Prediction& prediction,
                                     const report::Paint& paint);

/// Writes one line of JSON (docs/user/serve.md). Numbers of a service that does not fit are null.
[[nodiscard]] std::string serve_json(const serve::Service& service, const serve::Prediction& prediction);

/// Writes passes, batch, queue and cache as a Chrome trace, piece by piece.
void write_serve_trace(const serve::Service& service, const serve::Prediction& prediction,
                       const std::function<void(std::string_view)>& write);

}  // namespace foretoken::tools

// Writes a prediction as one line of JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/report/metrics.h"

namespace foretoken::report {

/// Writes the answer of `simulate --json`, without a newline. Numbers read back exactly, and the same metrics give the
/// same bytes. Precondition: every number is finite.
[[nodiscard]] std::string to_json(const Metrics& metrics);

/// Writes the array `delays` of `simulate --json` and `explain --json`: slow hardware that the step waits for.
[[nodiscard]] nlohmann::ordered_json delays_json(const Metrics& metrics);

}  // namespace foretoken::report

// A prediction as one line of JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/report/metrics.h"

namespace foretoken::report {

/// The answer of `simulate --json`, without a newline. Numbers read back exactly; the same
/// metrics give the same bytes. Precondition: every number is finite.
[[nodiscard]] std::string to_json(const Metrics& metrics);

/// The array `delays` of `simulate --json` and `explain --json`: slow hardware that a step of length `step` waits for.
[[nodiscard]] nlohmann::ordered_json delays_json(const Metrics& metrics);

}  // namespace foretoken::report

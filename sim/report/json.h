// A prediction as one line of JSON.
#pragma once

#include <string>

#include "sim/report/metrics.h"

namespace foretoken::report {

/// The answer of `simulate --json`, without a newline. Numbers read back exactly; the same
/// metrics give the same bytes. Precondition: every number is finite.
[[nodiscard]] std::string to_json(const Metrics& metrics);

}  // namespace foretoken::report

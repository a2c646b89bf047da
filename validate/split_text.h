// Writes the parts of a predicted step in percent, for tables.
#pragma once

#include <string>

#include "validate/evaluate.h"

namespace foretoken::validate {

/// Writes the parts of at least one percent, largest first: "compute 72, tensor 13, bubble 12, data 2".
[[nodiscard]] std::string split_text(const CaseResult& result);

/// Returns name and seconds of every part, in the order of report::TimeSplit.
[[nodiscard]] std::vector<std::pair<std::string_view, Seconds>> split_parts(const report::TimeSplit& split);

/// Writes a fraction in percent with its sign: "+3.4 %".
[[nodiscard]] std::string signed_percent(double fraction);

}  // namespace foretoken::validate

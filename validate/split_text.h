// Where the time of a predicted step goes, in percent, for tables.
#pragma once

#include <string>

#include "validate/evaluate.h"

namespace foretoken::validate {

/// "compute 72, tensor 13, bubble 12, data 2": parts of at least one percent, largest first.
[[nodiscard]] std::string split_text(const CaseResult& result);

/// Name and seconds of every part, in the order of report::TimeSplit.
[[nodiscard]] std::vector<std::pair<std::string_view, Seconds>> split_parts(const report::TimeSplit& split);

/// "+3.4 %".
[[nodiscard]] std::string signed_percent(double fraction);

}  // namespace foretoken::validate

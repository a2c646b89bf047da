// Live bytes of a stage over the step.
#pragma once

#include <cstddef>
#include <string>

#include "sim/html/report_data.h"

namespace foretoken::html {

/// What one GPU of `stage` holds from the step's start to its end, thinned to what a drawing can show, as a figure.
[[nodiscard]] std::string memory_over_time(const ReportData& data, std::size_t stage);

}  // namespace foretoken::html

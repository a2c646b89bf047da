// Draws the live bytes of a stage over the step.
#pragma once

#include <string>

#include "sim/html/report_data.h"

namespace foretoken::html {

/// Returns a figure of the live bytes on one GPU of `stage` over the step, with as many points as a drawing can show.
[[nodiscard]] std::string memory_over_time(const ReportData& data, Stage stage);

}  // namespace foretoken::html

// Writes a report as one HTML file that needs neither network nor other files.
#pragma once

#include <string>

#include "sim/html/report_data.h"

namespace foretoken::html {

/// Returns the whole file. The same data give the same bytes.
[[nodiscard]] std::string document(const ReportData& data);

}  // namespace foretoken::html

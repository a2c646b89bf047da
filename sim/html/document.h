// A report as one HTML file that stands alone: it needs no network.
#pragma once

#include <string>

#include "sim/html/report_data.h"

namespace foretoken::html {

/// The whole file. The same data give the same bytes.
[[nodiscard]] std::string document(const ReportData& data);

}  // namespace foretoken::html

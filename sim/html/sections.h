// Declares the sections of a report, one file each. A section returns the HTML below its heading; an empty one is left
// out.
#pragma once

#include <string>

#include "sim/html/report_data.h"

namespace foretoken::html {

[[nodiscard]] std::string verdict(const ReportData& data);
[[nodiscard]] std::string plan(const ReportData& data);
[[nodiscard]] std::string configuration(const ReportData& data);
[[nodiscard]] std::string waterfall(const ReportData& data);
[[nodiscard]] std::string timeline(const ReportData& data);
[[nodiscard]] std::string memory(const ReportData& data);
[[nodiscard]] std::string communication(const ReportData& data);
[[nodiscard]] std::string schedules(const ReportData& data);
[[nodiscard]] std::string scaling(const ReportData& data);
[[nodiscard]] std::string sensitivity(const ReportData& data);
[[nodiscard]] std::string alternatives(const ReportData& data);
[[nodiscard]] std::string validation(const ReportData& data);
[[nodiscard]] std::string assumptions(const ReportData& data);
[[nodiscard]] std::string reproduce(const ReportData& data);

}  // namespace foretoken::html

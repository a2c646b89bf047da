// Declares the page, its style and its scripts: the files of page/, embedded at build time.
#pragma once

#include <string_view>

namespace foretoken::html {

extern const std::string_view kPageHtml, kReportCss, kPageJs, kTablesJs, kChartsJs, kChartLicenceJs, kChartMinJs,
    kTimelineDataJs, kTimelineDrawJs, kTimelineFindJs, kTimelineSumJs, kTimelineTraceJs, kTimelineJs;

}  // namespace foretoken::html

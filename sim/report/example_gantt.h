// Makes a small pipeline for the tests of charts.
#pragma once

#include <string>

#include "sim/report/gantt.h"

namespace foretoken::report {

inline GanttBar bar_of(Activity activity, std::int64_t begin, std::int64_t end, int microbatch = 0) {
  return {.begin = {begin}, .end = {end}, .activity = activity, .microbatch = id_of<schedule::MicroBatch>(microbatch)};
}

/// Every stage alternates forward (1 ps) and backward (2 ps) over `pairs` micro-batches.
inline Gantt alternating(int pairs, int stages) {
  Gantt chart{.title = "alternating", .rows = {}, .length = {pairs * 3}};
  for (int s = 0; s < stages; ++s) {
    GanttRow& row = chart.rows.emplace_back();
    row.label = "stage " + std::to_string(s);
    for (int m = 0; m < pairs; ++m) {
      row.work.push_back(bar_of(Activity::kForward, m * 3, m * 3 + 1, m));
      row.work.push_back(bar_of(Activity::kBackward, m * 3 + 1, m * 3 + 3, m));
    }
  }
  return chart;
}

}  // namespace foretoken::report

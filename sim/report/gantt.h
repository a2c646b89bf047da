// Shows a pipeline over time as bars of each stage: as text here, as SVG in sim/draw.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/des/engine.h"
#include "sim/report/text/layout.h"
#include "sim/step/workload.h"

namespace foretoken::report {

enum class Activity : std::uint8_t {
  kForward,
  kBackward,
  kStepEnd,
  kMessage,
  kDataParallel,
  kBackwardInput,
  kBackwardWeight,
  kRecompute,
  kHostCopy,  ///< between a GPU and its host, or the update there
};
[[nodiscard]] constexpr bool is_pass(Activity activity) {
  return activity != Activity::kStepEnd && activity != Activity::kMessage && activity != Activity::kDataParallel &&
         activity != Activity::kHostCopy;
}

/// Returns the activity that an op is drawn as.
[[nodiscard]] Activity activity_of(schedule::OpKind kind);

/// One activity of a stage from `begin` to `end`.
struct GanttBar {
  des::Instant begin, end;
  Activity activity = Activity::kForward;
  schedule::MicroBatch microbatch = {};  ///< of passes and messages
  Chunk chunk = {};                      ///< of passes and messages
};

/// One pipeline stage: its passes and the optimizer, and below them its communication. Both are in order of begin. Bars
/// of `work` do not overlap; bars of `communication` may overlap work and one another.
struct GanttRow {
  std::string label;
  std::vector<GanttBar> work, communication;
};

/// One pipeline.
struct Gantt {
  std::string title;
  std::vector<GanttRow> rows;
  des::Duration length;
  int chunks = 1;
};

/// Returns the chart of a run.
[[nodiscard]] Gantt gantt_of(const step::Workload& workload, const des::RunResult& run, std::string title);

/// Draws the chart for a terminal, as wide as the page. Of many stages only some are shown. `axis` is the time of
/// the full width; charts with the same `axis` have the same scale.
[[nodiscard]] std::string gantt_text(const Gantt& chart, des::Duration axis, const Paint& paint);
/// Explains the glyphs of gantt_text.
[[nodiscard]] std::string gantt_legend(std::span<const Gantt> charts, const Paint& paint);

/// A kind of pass as legends explain it.
struct PassKind {
  Activity activity = Activity::kForward;
  std::string_view name;  ///< of schedule::OpTraits
};
/// Returns true when a chart shows copies between a GPU and its host.
[[nodiscard]] bool copies_to_host(std::span<const Gantt> charts);
/// Returns the kinds of passes that the charts show, in the order of schedule::kOpTraits.
[[nodiscard]] std::vector<PassKind> passes_in(std::span<const Gantt> charts);

}  // namespace foretoken::report

// A pipeline over time: what each stage does when. As text here, as SVG in sim/draw.
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
};
[[nodiscard]] constexpr bool is_pass(Activity activity) {
  return activity != Activity::kStepEnd && activity != Activity::kMessage && activity != Activity::kDataParallel;
}

/// Something a stage does from `begin` to `end`.
struct GanttBar {
  des::Instant begin, end;
  Activity activity = Activity::kForward;
  int microbatch = 0, chunk = 0;  ///< of passes and messages
};

/// One pipeline stage: its passes and the optimizer, and below them its communication. Both in order of begin; bars of
/// `work` do not overlap, those of `communication` may lie beside work and one another.
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

/// What a run did, stage by stage.
[[nodiscard]] Gantt gantt_of(const step::Workload& workload, const des::RunResult& run, std::string title);

/// The chart for a terminal, at most kPageColumns wide; many stages are thinned out. All charts have one time axis when
/// they share `axis`, the length that the full width stands for.
[[nodiscard]] std::string gantt_text(const Gantt& chart, des::Duration axis, const Paint& paint);
/// Explains the glyphs of gantt_text.
[[nodiscard]] std::string gantt_legend(std::span<const Gantt> charts, const Paint& paint);

/// A kind of pass as legends explain it.
struct PassKind {
  Activity activity = Activity::kForward;
  std::string_view name;  ///< of schedule::OpTraits
};
/// Returns the kinds of passes that the charts show, in the order of schedule::kOpTraits.
[[nodiscard]] std::vector<PassKind> passes_in(std::span<const Gantt> charts);

}  // namespace foretoken::report

// From the ideal step to the predicted one: the time that each shortcoming of a real run adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/des/time.h"
#include "sim/job/job.h"
#include "sim/observe/stage_times.h"
#include "sim/report/text/layout.h"
#include "sim/step/lower.h"

namespace foretoken::report {

/// One step of the fall: time added to what stands above it, in whole picoseconds; negative when it saves time.
struct WaterfallStep {
  std::string_view key;  ///< "tensor_parallel_comm"
  std::string words;     ///< "tensor-parallel communication"
  des::Duration time;
};

struct Waterfall {
  int stage = 0;                     ///< the busiest, whose timeline this is
  des::Duration ideal;               ///< the model's operations at the GPU's dense peak, dealt out evenly
  std::vector<WaterfallStep> steps;  ///< those that are zero included
  des::Duration step;                ///< predicted: ideal and all steps, added
};

/// The timeline of the busiest stage, with its computing split. Kernels count with their mean over stages. The time
/// that the busiest stage computes beyond the mean is a step of its own. Communication, bubble and the rest come from
/// observe::StageSplit: only time that nothing hides.
[[nodiscard]] Waterfall waterfall_of(const job::Job& job, const step::LoweredStep& step,
                                     const observe::Observations& seen);

/// The waterfall of the run without stragglers, and a last step: the time that stragglers add to reach `step`.
[[nodiscard]] Waterfall with_stragglers(Waterfall without, des::Duration step);

/// A line and a bar for the ideal and for every step that is not zero.
[[nodiscard]] std::string waterfall_text(const Waterfall& waterfall, const job::Job& job, const Paint& paint);

}  // namespace foretoken::report

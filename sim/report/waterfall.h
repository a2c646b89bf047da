// Explains the predicted step: the ideal time, and the time that each shortcoming of a real run adds.
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

/// One step of the fall: a time added to the lines above it, in whole picoseconds. It is negative when it saves time.
struct WaterfallStep {
  std::string_view key;  ///< "tensor_parallel_comm"
  std::string words;     ///< "tensor-parallel communication"
  des::Duration time;
};

struct Waterfall {
  Stage stage = {};                  ///< the busiest, whose timeline this is
  des::Duration ideal;               ///< the model's operations at the GPU's dense peak, spread evenly
  std::vector<WaterfallStep> steps;  ///< including zero ones
  des::Duration simulated;           ///< the simulated step: the sum before the bias
  des::Duration step;                ///< the predicted step: the sum of `ideal` and all `steps`
};

/// Returns the waterfall of the busiest stage. Kernels count with their mean over stages; the time that the busiest
/// stage computes beyond the mean is a step of its own. Communication, bubble and the rest come from
/// observe::StageSplit, which counts only time that nothing hides.
[[nodiscard]] Waterfall waterfall_of(const job::Job& job, const step::LoweredStep& step,
                                     const observe::Observations& observed);

/// Adds a last step to a waterfall with even routing: the time that `moe.imbalance` adds to reach `step`.
[[nodiscard]] Waterfall with_imbalance(Waterfall even, des::Duration step);

/// Adds a last step to a waterfall without stragglers: the time that stragglers add to reach `step`.
[[nodiscard]] Waterfall with_stragglers(Waterfall without, des::Duration step);

/// Returns the waterfall with a last step: the part by which runs like this one took longer than simulated.
[[nodiscard]] Waterfall with_bias(Waterfall simulated, double factor);

/// Writes a line and a bar for the ideal and for every step that is not zero.
[[nodiscard]] std::string waterfall_text(const Waterfall& waterfall, const job::Job& job, const Paint& paint);

}  // namespace foretoken::report

// Computes the metrics of one run from its observations.
#pragma once

#include "sim/report/metrics.h"

namespace foretoken::study {

/// Returns the metrics of one run, without the parts that need further runs.
///   tokens/s = global batch x sequence / step
///   MFU      = model operations / (GPUs x dense peak x step); HFU is the same with recomputed operations
///   bubble   = (T - W) / W, and of the step (T - W) / T (arXiv:2104.04473 section 2.2)
///              T: from the first start of a forward to the last end of a backward
///              W: the largest busy time of a stage
///   ideal    = (p - 1) / (v m) for GPipe, 1F1B and interleaving; else the bubble with equal stages, free messages
/// `tasks` counts the tasks of the run. The step is the simulated one times the factor of `bias`, and all that follows
/// from it is of this step: rates, MFU,
/// the parts of its time, days and cost.
[[nodiscard]] report::Metrics measure(const job::Job& job, const step::LoweredStep& step,
                                      const observe::Observations& observations,
                                      const PerStage<observe::StageTimeline>& memory, std::size_t tasks,
                                      std::optional<trust::Bias> bias = std::nullopt);

}  // namespace foretoken::study

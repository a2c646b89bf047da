// The numbers of one run, from what was observed of it.
#pragma once

#include "sim/report/metrics.h"

namespace foretoken::study {

/// Returns the metrics of one run, without what asks for further runs.
///   tokens/s = global batch x sequence / step;  MFU = model operations / (GPUs x dense peak x step), HFU the same with
///   recomputed operations;  bubble = (T - W) / W, of the step (T - W) / T, with T from the first forward's start to
///   the last backward's end and W the largest busy time of a stage (arXiv:2104.04473 section 2.2);  ideal (p - 1) / (v
///   m).
[[nodiscard]] report::Metrics measure(const job::Job& job, const step::LoweredStep& step,
                                      const observe::Observations& observations,
                                      const std::vector<observe::StageTimeline>& memory);

}  // namespace foretoken::study

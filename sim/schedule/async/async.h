// The schedules without a flush: the pipeline stays full from step to step, and weights change while it runs.
#pragma once

#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// 1F1B without a flush. The weights change after every micro-batch, and each micro-batch keeps the version of its
/// forward pass: stage r keeps p - r of them (weight stashing, arXiv:1806.03377).
[[nodiscard]] Schedule pipedream();
/// 1F1B without a flush. The weights change once a step, and two versions serve all passes (arXiv:2006.09503).
[[nodiscard]] Schedule pipedream_2bw();
/// 1F1B without a flush. The weights change once a step, and every pass uses the newest version (arXiv:1910.05124).
[[nodiscard]] Schedule pipemare();

}  // namespace foretoken::schedule

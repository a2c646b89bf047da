// Lists the assumptions and omissions of one run, which depend on how its traffic moves.
#pragma once

#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// Adds the run's assumptions about the fabric, and warnings about imperfections that the run ignores. `how` is
/// resolved.
void add_caveats(const job::Job& job, const How& how, report::Metrics& metrics);

}  // namespace foretoken::study

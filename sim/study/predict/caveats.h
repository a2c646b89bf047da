// What one run assumes and leaves out, by how its traffic moves.
#pragma once

#include "sim/study/predict/predict.h"

namespace foretoken::study {

/// Adds to the assumptions what the run takes for granted of the fabric, and to the warnings which imperfections it
/// leaves out of account. `how` is resolved.
void add_caveats(const job::Job& job, const How& how, report::Metrics& metrics);

}  // namespace foretoken::study

// What of a job's cluster is not as its datasheet says, from the scenario.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// Reads `imperfections`: slow GPUs, slow NICs and the placement of ranks. After all rules on the scenario hold: GPUs
/// and nodes are counted against the job's.
void read_imperfections(const Node& root, job::Job& scenario);

}  // namespace foretoken::io

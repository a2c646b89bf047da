// What of a job's cluster is not as its datasheet says, from the scenario.
#pragma once

#include "sim/io/node.h"
#include "sim/lowering/scenario.h"

namespace foretoken::io {

/// Reads `imperfections`: slow GPUs, slow NICs and the placement of ranks. After all rules on the scenario hold: GPUs
/// and nodes are counted against the job's.
void read_imperfections(const Node& root, lowering::Scenario& scenario);

}  // namespace foretoken::io

// Deviations of a job's cluster from its datasheet, from the scenario.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// Reads the object `imperfections`: slow GPUs, slow NICs and links, and the placement of ranks. GPUs and nodes are
/// counted against those of `job`, which obeys all other rules.
[[nodiscard]] job::Imperfections read_imperfections(const Node& node, const job::Job& job);

}  // namespace foretoken::io

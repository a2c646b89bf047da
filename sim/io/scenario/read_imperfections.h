// Reads deviations of a job's cluster from its datasheet.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// Reads the object `imperfections`: slow GPUs, slow NICs and links, imbalanced experts, and the placement of ranks.
/// Numbers of GPUs, nodes, stages and expert groups are checked against `job`, which obeys all other rules.
[[nodiscard]] job::Imperfections read_imperfections(const Node& node, const job::Job& job);

}  // namespace foretoken::io

// Reads `offload` of a scenario: the parts of a job's memory that stand on the host or on its disks.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/question.h"

namespace foretoken::io {

/// Reads `offload`, if the scenario has it. The rules of sim/job check it against runtime and machines.
void read_offload(const Node& root, job::Question& question);

}  // namespace foretoken::io

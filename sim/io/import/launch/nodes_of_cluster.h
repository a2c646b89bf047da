// Compares the nodes that a launch is written for with those of the cluster.
#pragma once

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Takes the GPUs of a node from the stated cluster where the launch states none. Notes ranks of a node and a GPU that
/// are others than the cluster's.
void settle_nodes(Report& report);

}  // namespace foretoken::io::launch

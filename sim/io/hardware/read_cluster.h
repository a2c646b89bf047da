// Clusters and GPUs: topologies/NAME.json and topologies/gpus/NAME.json.
#pragma once

#include "sim/io/json/node.h"
#include "sim/net/cluster.h"

namespace foretoken::io {

/// A GPU by its datasheet.
[[nodiscard]] net::Gpu read_gpu(const Node& node);

/// Checks a network above the nodes, as a cluster's "fabric" has it.
void check_fabric(const Node& fabric);

/// A cluster with its GPU, which may be a name, a path or an object.
[[nodiscard]] net::Cluster read_cluster(const Node& node);

}  // namespace foretoken::io

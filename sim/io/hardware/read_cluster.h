// Reads clusters and GPUs: topologies/NAME.json and topologies/gpus/NAME.json.
#pragma once

#include "sim/io/json/node.h"
#include "sim/net/cluster.h"

namespace foretoken::io {

/// Reads the datasheet of a GPU.
[[nodiscard]] net::Gpu read_gpu(const Node& node);

/// Checks the network above the nodes: the "fabric" of a cluster.
void check_fabric(const Node& fabric);

/// Reads a cluster with its GPU, which may be a name, a path or an object.
[[nodiscard]] net::Cluster read_cluster(const Node& node);

}  // namespace foretoken::io

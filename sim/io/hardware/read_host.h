// Reads the host of a node: memory, links to the GPUs, disks.
#pragma once

#include <optional>

#include "sim/io/json/node.h"
#include "sim/net/cluster.h"

namespace foretoken::io {

/// Returns the host that `node` of a cluster states, or nothing.
[[nodiscard]] std::optional<net::Host> read_host(const Node& node, int gpus);

}  // namespace foretoken::io

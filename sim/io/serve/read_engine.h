// Reads an engine file: calibration/engines/NAME.json.
#pragma once

#include "sim/io/json/node.h"
#include "sim/serve/engine.h"

namespace foretoken::io {

/// Reads an engine. Each fitted or stated number has a note about its origin, which becomes a note of the engine.
[[nodiscard]] serve::Engine read_engine(const Node& node);

/// Reads the key capacity_scheduler_policy, as TensorRT-LLM names it.
[[nodiscard]] serve::CapacityPolicy read_capacity_policy(const Node& node, serve::CapacityPolicy otherwise);

}  // namespace foretoken::io

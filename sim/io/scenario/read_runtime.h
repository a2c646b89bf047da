// Reads runtimes, the software stacks: calibration/runtimes/NAME.json.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/runtime.h"

namespace foretoken::io {

/// Reads a runtime with its fitted numbers. The note of each number becomes one of Runtime::notes.
[[nodiscard]] job::Runtime read_runtime(const Node& node);

}  // namespace foretoken::io

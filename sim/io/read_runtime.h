// Software stacks: calibration/runtimes/NAME.json.
#pragma once

#include "sim/io/node.h"
#include "sim/lowering/runtime.h"

namespace foretoken::io {

/// A runtime with its fitted numbers; the note of each number becomes one of Runtime::notes.
[[nodiscard]] lowering::Runtime read_runtime(const Node& node);

}  // namespace foretoken::io

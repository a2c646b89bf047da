// FSDP of NeMo 1.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Returns true where PyTorch's FSDP shards the model.
[[nodiscard]] bool has_fsdp(const Settings& settings);

/// Maps FSDP over what Megatron's flags say: the stage of ZeRO, the type of reduced gradients, overlap and the runtime.
void map_fsdp(const Settings& settings);

}  // namespace foretoken::io::launch::nemo

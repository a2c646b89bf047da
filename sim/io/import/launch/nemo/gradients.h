// Gradients of NeMo 1.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Settles the width of gradients, and what of their exchange overlaps, where Megatron-LM's defaults are others. Call
/// it behind the flags.
void settle_gradients(const Settings& settings);

}  // namespace foretoken::io::launch::nemo

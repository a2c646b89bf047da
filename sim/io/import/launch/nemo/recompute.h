// Recomputation of NeMo 1.
#pragma once

#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Adds the flags of activations_checkpoint_granularity, its method and its layers. Without a granularity nothing is
/// recomputed, whatever the method says.
void add_recompute(const Settings& settings, std::vector<Argument>& arguments);

/// Says by which keys nothing is recomputed. Call it behind the flags.
void settle_recompute(const Settings& settings);

}  // namespace foretoken::io::launch::nemo

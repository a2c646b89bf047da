// The list of layers that Primus recomputes.
#pragma once

#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::megatron {

inline constexpr const char* kRecomputedLayers = "recompute_layer_ids";

/// Adds the method and the layers of a stage that recompute what the list names. Refuses a list that no number of
/// layers a stage says.
void put_recomputed_layers(const Settings& settings, std::vector<Argument>& arguments);

}  // namespace foretoken::io::launch::megatron

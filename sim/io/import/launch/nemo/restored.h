// The model of fine-tuning that NeMo 1 restores from a file of weights.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Returns true for a configuration of fine-tuning whose section `model` states no sizes: the weights hold them.
[[nodiscard]] bool restores_model(const Settings& settings);

/// Maps the model by the name of the weights, or asks for it, in the place of the defaults of pre-training.
void map_restored_model(const Settings& settings);

}  // namespace foretoken::io::launch::nemo

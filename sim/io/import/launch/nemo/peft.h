// The section model.peft of NeMo 1.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Maps LoRA of model.peft. Refuses other schemes by name, and LoRA of some layers. Does nothing without a scheme.
void map_peft(const Settings& settings);

}  // namespace foretoken::io::launch::nemo

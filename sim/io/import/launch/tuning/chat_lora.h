// Reads the adapters of DeepSpeed-Chat.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::tuning {

/// Maps lora_dim and lora_module_name. Leaves the training of all weights where no module of the model has that name.
void map_lora_of_chat(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::tuning

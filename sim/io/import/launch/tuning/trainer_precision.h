// Decides about the types of products, weights and states of the Trainer's arguments.
#pragma once

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::tuning {

/// Maps the precision of the arguments: switches, or a type by name.
void map_trainer_precision(const Settings& settings, Report& report);

/// Maps weights that are loaded in bf16 and keep no fp32 copy. The sharding and the adapters have been decided.
void map_trainer_weights(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::tuning

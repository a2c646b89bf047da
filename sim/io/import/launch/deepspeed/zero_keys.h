// The keys that DeepSpeed takes in its section of ZeRO.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::deepspeed {

/// Notes keys of zero_optimization that DeepSpeed does not know. They may be misspelt.
void note_unknown_zero_keys(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::deepspeed

// The keys that DeepSpeed takes in its section of ZeRO.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::deepspeed {

/// Refuses keys of zero_optimization that DeepSpeed does not know: it stops there, and a misspelt key has no effect.
void refuse_unknown_zero_keys(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::deepspeed

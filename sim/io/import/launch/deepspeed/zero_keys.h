// The keys that DeepSpeed takes in its section of ZeRO.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::deepspeed {

/// Refuses keys of zero_optimization that look like misspelt ones, and notes all others that DeepSpeed does not know.
void judge_unknown_zero_keys(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::deepspeed

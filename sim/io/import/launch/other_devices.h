// Tells scripts for devices that are no GPUs.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Refuses a script whose variables or sourced files are those of Ascend NPUs. What stands in a branch that may not run
/// does not count.
void refuse_other_devices(const shell::Script& script, Report& report);

}  // namespace foretoken::io::launch

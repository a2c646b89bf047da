// Tells a launch whose processes have several GPUs each.
#pragma once

#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Refuses a process for several GPUs. ms-swift and device_map deal the layers of the model out to them, and they
/// work in turns; the Trainer shares its batch out: transformers/trainer.py, DataParallel; swift/utils/torch_utils.py,
/// get_device_map. Returns true where it is so.
[[nodiscard]] bool refuse_shared_process(const shell::Command& command, const std::vector<Argument>& counts,
                                         Report& report);

}  // namespace foretoken::io::launch::tuning

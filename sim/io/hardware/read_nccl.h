// Reads NCCL's tuning constants by version (calibration/nccl/VERSION.json).
#pragma once

#include <string_view>
#include <vector>

#include "sim/cost/collectives/nccl_choice.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns the constants of the newest known release that is no newer than `version`: 2.28 for "2.28.9". An empty
/// `version` means the newest release. Patches of a release share their constants. Throws ConfigError when a file is
/// missing or wrong, when `version` is no version, and when it is older than every known release. Adds the files to
/// `files`: that of the release, and the newest, whose rates of NVLink stand for what traffic reaches.
[[nodiscard]] cost::NcclTuning read_nccl_tuning(std::string_view version, std::vector<ReadFile>& files);
[[nodiscard]] cost::NcclTuning read_nccl_tuning(std::string_view version);

}  // namespace foretoken::io

// NCCL's tuning constants by version (calibration/nccl/tuning.json).
#pragma once

#include <string_view>
#include <vector>

#include "sim/cost/collectives/nccl_choice.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

/// The constants of the newest known release (2.28) that is no newer than `version` ("2.28.9"; empty: the newest).
/// Patches of a release share their constants. Throws ConfigError when the file is missing or wrong, or when `version`
/// is no version or older than every known release.
/// The file that was read is added to `files`.
[[nodiscard]] cost::NcclTuning read_nccl_tuning(std::string_view version, std::vector<ReadFile>& files);
[[nodiscard]] cost::NcclTuning read_nccl_tuning(std::string_view version);

}  // namespace foretoken::io

// Reads the GPUs and the machine of a submission.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/io/import/launch/mlperf/variables.h"

namespace foretoken::io::launch::mlperf {

/// Maps the GPUs and, by the name of the file, the cluster. Where no variable states the GPUs of a node, the name does:
/// 1x4 in config_XE7745x4H200-NVL-141GB_1x4x2xtp1pp1cp2.sh. `incomplete`: a file that may state them is not there.
/// Returns the GPUs; nothing where they are asked for.
[[nodiscard]] std::optional<std::int64_t> map_nodes(const Settings& settings, const std::string& file, bool incomplete,
                                                    Report& report);

}  // namespace foretoken::io::launch::mlperf

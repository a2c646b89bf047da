// Puts keys that the user states over those of the files.
#pragma once

#include <string>
#include <vector>

#include "sim/io/import/launch/read_launch.h"

namespace foretoken::io::launch {

/// Sets each KEY=VALUE in the scenario, with a line that names `from`. Keys that count beside another value only are
/// dropped, with a line: recompute.granularity=none drops the method and the layers of the file.
void apply_sets(const std::vector<std::string>& sets, const std::string& from, Report& report, Findings& findings);

}  // namespace foretoken::io::launch

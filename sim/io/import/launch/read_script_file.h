// Reads a shell script: the training that it starts, or the configuration that this training names.
#pragma once

#include <filesystem>
#include <string>

#include "sim/io/import/launch/read_launch.h"

namespace foretoken::io::launch {

/// Reads `text`, the script `path`. Words of `launch` up to the first flag are the script's own arguments.
void read_script_file(const std::filesystem::path& path, const std::string& text, const Launch& launch, Report& report,
                      Findings& findings);

}  // namespace foretoken::io::launch

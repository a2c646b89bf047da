// The modules that train whole beside adapters, by the names that families of models give them.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Maps a list of names, parted by spaces or commas, to the embedding and the head. Refuses every other module.
void map_whole_modules(const std::string& text, const std::string& from, Report& report);

}  // namespace foretoken::io::launch

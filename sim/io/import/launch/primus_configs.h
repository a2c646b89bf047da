// Finds the files of Primus that an experiment names.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sim/io/import/launch/environment.h"
#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch {

/// Reads primus/configs/KIND/INSIDE of a folder above the experiment, with the values of variables. KIND is models or
/// modules. Returns nothing where there is no such file, where it is no list of keys, and where `inside` leaves the
/// folder of the kind.
[[nodiscard]] std::optional<Json> primus_config(const std::filesystem::path& experiment, const std::string& kind,
                                                const std::filesystem::path& inside, const Environment& environment);

}  // namespace foretoken::io::launch

// Scripts that start a training by its configuration: llamafactory-cli train config.yaml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// A configuration that a command of a script names.
struct NamedFile {
  std::filesystem::path path{};
  std::vector<std::string> overrides{};  ///< KEY=VALUE and --KEY.KEY VALUE behind it
  std::optional<std::int64_t> gpus{};    ///< of the launcher
  std::string place{};                   ///< "run.sh:12"
};

/// Returns the first YAML or TOML file that a command names and that is there: below `folder`, or beside the script by
/// its own name. Files of accelerate say how to launch, and are passed over.
[[nodiscard]] std::optional<NamedFile> file_of_script(const shell::Script& script, const std::string& folder);

}  // namespace foretoken::io::launch

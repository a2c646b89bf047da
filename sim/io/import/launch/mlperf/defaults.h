// The defaults of a submission's variables, which stand beside its config_*.sh.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::mlperf {

struct Default {
  std::string value, from;
};
using Defaults = std::map<std::string, Default, std::less<>>;

/// Returns what run_and_time.sh sets where a variable is not set, and the defaults of ${oc.env:NAME,DEFAULT} in
/// conf/*.yaml, and under "fp8_params" the variable of that key. Both stand in the folder of `path` or up to two
/// folders above it.
[[nodiscard]] Defaults defaults_beside(const std::filesystem::path& path, const shell::Script& script);

}  // namespace foretoken::io::launch::mlperf

// Programs without flags that accelerate or DeepSpeed's launcher starts with a file of the distribution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::tuning {

/// Returns true for a command whose program has no flags of its training, beside a file of DeepSpeed or accelerate that
/// can be read.
[[nodiscard]] bool is_bare_program(const shell::Script& script, const shell::Command& command,
                                   const std::string& folder);

/// Reads the file of such a command, and asks for what only the program knows. `row` chooses among several. Returns
/// false for a script without one.
[[nodiscard]] bool read_bare_programs(const shell::Script& script, const std::string& folder, const std::string& row,
                                      const std::vector<std::string>& flags, std::optional<std::int64_t> gpus,
                                      Report& report);

}  // namespace foretoken::io::launch::tuning

// The scenario of a launch file, where a command takes one in place of a scenario.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/json/document.h"

namespace foretoken::io {

/// Variables of a script by their names. They win over the script's assignments.
using ScriptVariables = std::vector<std::pair<std::string, std::string>>;

/// Returns the scenario that the launch file at `path` stands for, with `sets` already in it. A script is read with
/// `variables`. Complains about every setting that is refused, and every fact that neither the file nor `sets` states.
[[nodiscard]] std::optional<Document> launch_document(const std::filesystem::path& path,
                                                      std::span<const std::string> sets,
                                                      const ScriptVariables& variables, Findings& findings);

}  // namespace foretoken::io

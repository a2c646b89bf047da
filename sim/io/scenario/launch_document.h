// The scenario of a launch file, where a command takes one in place of a scenario.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "sim/io/json/document.h"

namespace foretoken::io {

/// Returns the scenario that the launch file at `path` stands for, with `sets` already in it. Complains about every
/// setting that is refused, and every fact that neither the file nor `sets` states.
[[nodiscard]] std::optional<Document> launch_document(const std::filesystem::path& path,
                                                      std::span<const std::string> sets, Findings& findings);

}  // namespace foretoken::io

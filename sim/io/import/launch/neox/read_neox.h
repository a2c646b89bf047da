// Makes a scenario of a GPT-NeoX configuration: one YAML file, or several that are merged.
#pragma once

#include <optional>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::neox {

/// Returns true for a file of GPT-NeoX, also one with a part of the settings.
[[nodiscard]] bool is_neox(const Json& document);

/// Returns the settings of several files. The last one wins.
[[nodiscard]] Json merged_neox(const std::vector<Json>& documents);

void read_neox(const Json& document, std::optional<std::int64_t> gpus, Report& report);

}  // namespace foretoken::io::launch::neox

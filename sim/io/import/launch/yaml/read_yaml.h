// Reads YAML into JSON values whose scalars are texts, with limits on size, depth and aliases.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io::launch {

/// Returns the first document of `text`. Scalars are texts as written, because every framework has rules of its own
/// for numbers and switches; a plain null, ~ or nothing is null. The last of two equal keys wins, as PyYAML has it.
/// Complains with line and column, and returns nothing, about text that is no YAML, that nests deeper than 64 levels,
/// or whose aliases make more than 200,000 values.
[[nodiscard]] std::optional<nlohmann::ordered_json> read_yaml(std::string_view text, const std::string& file,
                                                              Findings& findings);

}  // namespace foretoken::io::launch

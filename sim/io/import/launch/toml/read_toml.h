// Reads TOML into JSON values whose scalars are texts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io::launch {

/// Returns the tables of `text` (TOML 1.0: tables, dotted keys, strings, numbers, dates, arrays, inline tables).
/// Numbers and switches stay texts as written. Complains with line and column, and returns nothing, about another text,
/// a key that is stated twice, arrays of tables, and values that nest deeper than 64 levels.
[[nodiscard]] std::optional<nlohmann::ordered_json> read_toml(std::string_view text, const std::string& file,
                                                              Findings& findings);

}  // namespace foretoken::io::launch

// Finds the family of a config that states no model_type.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns the config with a model_type where it states none, and its `architectures` or its keys name one family.
/// Notes where the family comes from. Returns nothing where the config has a model_type, or nothing names it.
[[nodiscard]] std::optional<nlohmann::json> with_model_type(const Node& node);

}  // namespace foretoken::io

// Reads keys that are second names of a size: n_layer beside num_hidden_layers, or in its place.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/io/json/node.h"
#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Returns the config with the family's own names, where it has second names in their place: num_attention_heads of a
/// GPT-2 becomes n_head. Complains about second names without a size.
[[nodiscard]] std::optional<nlohmann::json> with_names_of_family(const Node& node, const ModelFamily& family);

/// Returns the keys of the family, and the second names that stand beside a name with the same value. Complains about
/// second names with another value.
[[nodiscard]] std::vector<std::string_view> keys_with_second_names(const Node& node, const ModelFamily& family);

}  // namespace foretoken::io

// Checks keys that are second names of a size: n_layer beside num_hidden_layers.
#pragma once

#include <string_view>
#include <vector>

#include "sim/io/json/node.h"
#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Returns the keys of the family, and the second names that stand beside a name with the same value. Complains about
/// second names with another value.
[[nodiscard]] std::vector<std::string_view> keys_with_second_names(const Node& node, const ModelFamily& family);

}  // namespace foretoken::io

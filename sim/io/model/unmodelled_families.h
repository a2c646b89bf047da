// Names the models that are known but not modelled.
#pragma once

#include <optional>
#include <string_view>

namespace foretoken::io {

/// Returns the part of a `model_type` that is not modelled: "layers of linear attention". Types are known by their
/// whole name, or by a word that names their kind: "qwen3_vl" reads images.
[[nodiscard]] std::optional<std::string_view> why_not_modelled(std::string_view type);

}  // namespace foretoken::io

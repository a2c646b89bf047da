// Finds the text model inside the config of a multimodal model.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Returns the config under `text_config` with what the whole config states for it: tied embeddings and, for
/// Gemma 3, the sizes that published configs leave out. Notes the parts that are left out. Complains, and returns
/// nothing, where text_config is no object.
[[nodiscard]] std::optional<nlohmann::json> text_model_of(const Node& node);

/// Returns the sizes of the text model that the config of a multimodal type states beside vision_config, with the type
/// of the text's family. Notes the parts that are left out. Returns nothing for other types.
[[nodiscard]] std::optional<nlohmann::json> flat_text_model_of(const Node& node);

}  // namespace foretoken::io

// Tells whether an unknown key of a config changes the model's shape.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace foretoken::io {

/// Returns true for a key about generated text, versions or names of files, no word of which is about sizes or layers:
/// eval_beams, output_past, unsloth_version. Sources: facebook/bart and xlm-roberta on the Hub, 2020 (transformers 2);
/// unslothai/unsloth, unsloth/models/_utils.py.
[[nodiscard]] bool is_beside_the_shape(std::string_view key);

/// Returns true for an unknown key that changes no shape: a setting of another program, null, false, 0 or an empty
/// value; and where no word of the key is about sizes or layers, a truth value, a fraction, texts, or an object that is
/// no model. A whole number may be a size under any name.
[[nodiscard]] bool changes_no_shape(std::string_view key, const nlohmann::json& value);

/// Returns true for null, false, 0 and empty values.
[[nodiscard]] bool is_off(const nlohmann::json& value);

}  // namespace foretoken::io

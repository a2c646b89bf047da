// Tells by its name what a model is made for: language, speech or images.
#pragma once

#include <string_view>

namespace foretoken::io {

/// Returns true for a name with a family of language models in it: "google/flan-t5-large", "vinai/phobert-base".
[[nodiscard]] bool names_language_model(std::string_view name);

/// Returns "speech" or "multimodal" for a name with a family of such models in it, or nothing.
[[nodiscard]] std::string_view other_purpose_of(std::string_view name);

}  // namespace foretoken::io

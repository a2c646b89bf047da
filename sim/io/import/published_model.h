// Makes models of published names that have no file of their own: llama-3.1-8b.
#pragma once

#include <optional>
#include <string>

#include "sim/io/json/document.h"

namespace foretoken::io {

/// Returns the model that a published name stands for: a shipped one of the same sizes, or those sizes. Says so in the
/// notes. Returns nothing for a name that is not known, and for one that states a format of its weights.
[[nodiscard]] std::optional<Document> published_model(const std::string& name, Findings& findings);

}  // namespace foretoken::io

// Checks the keys of Hugging Face configs: ignores keys without effect on shapes, refuses keys that change the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Complains about every unknown key: not in `read_keys`, not known to be harmless, and not refused below. Notes those
/// that change no shape (other_keys.h).
void allow_model_keys(const Node& node, std::span<const std::string_view> read_keys);

/// Complains about keys of architectures that the model's family does not have, or that we do not model. Keys that the
/// family reads are allowed.
void refuse_what_is_not_modelled(const Node& node, std::span<const std::string_view> read_keys);

/// Returns the tokens that the narrowest attention layer sees, or 0 where every layer sees all.
[[nodiscard]] std::int64_t attention_window(const Node& node);

}  // namespace foretoken::io

// Keys of Hugging Face configs: those without effect on shapes, and those that would change the answer.
#pragma once

#include <span>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Complains about every key that is neither in `read_keys`, nor known to be without effect, nor refused below.
void allow_model_keys(const Node& node, std::span<const std::string_view> read_keys);

/// Complains about keys that ask for what we do not model: experts, latent attention, sliding windows, ...
void refuse_what_is_not_modelled(const Node& node);

}  // namespace foretoken::io

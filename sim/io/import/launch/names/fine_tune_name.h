// Names of fine-tuned models that state their family and size.
#pragma once

#include <string_view>

namespace foretoken::io::launch {

/// Returns the part of a name that states a family and a size, where the rest says no other shape:
/// "Llama3-8B-Chinese-Chat" is "Llama3-8B". Families are Llama 3, Qwen since 2 and TinyLlama, whose fine-tunes keep
/// their vocabulary. Empty for other names.
[[nodiscard]] std::string_view base_in_name(std::string_view name);

}  // namespace foretoken::io::launch

// Formats of stored weights, by the words in the names of models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::launch {

/// Returns the last part of a path or of an organisation's name. A folder of the hub's cache
/// ("/data/models--meta-llama--Llama-3.2-1B/snapshots/4e20") holds "Llama-3.2-1B". So does "meta-llama--Llama-3.2-1B".
[[nodiscard]] std::string_view model_in_path(std::string_view name);

/// Returns the words of a name without the formats at its end; "Meta-Llama-3.1-405B-BNB-NF4-BF16" has three. They
/// change no size.
[[nodiscard]] std::vector<std::string> without_formats(std::vector<std::string> words);

/// Returns true for weights that are stored in 4 bits: "unsloth/llama-3-8b-bnb-4bit". False for those of a library that
/// `other_library_in` names.
[[nodiscard]] bool holds_four_bits(std::string_view name);

/// Returns true for weights that are stored in 8 bits by bitsandbytes, or where the name says no library.
[[nodiscard]] bool holds_eight_bits(std::string_view name);

/// Returns true for weights that are stored in fp8: "Qwen/Qwen3-32B-FP8".
[[nodiscard]] bool holds_fp8(std::string_view name);

/// Returns the format of a library with own kernels: "AWQ". Bits without any library are one: "4bit". Empty for none.
[[nodiscard]] std::string other_library_in(std::string_view name);

}  // namespace foretoken::io::launch

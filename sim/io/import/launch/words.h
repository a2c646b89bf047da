// Configuration files whose keys say what flags of Megatron-LM say.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch {

/// The form of a key beside its flag.
enum class Form : std::uint8_t {
  kValue,    ///< the value of the flag
  kSwitch,   ///< true: the flag is given
  kInverse,  ///< false: the flag is given
  kType      ///< the value, as a type: torch.bfloat16 is bf16
};

/// A key of a file and the flag of Megatron-LM that says the same. Importers and exporters read the same tables.
struct Word {
  std::string_view key, flag;
  Form form = Form::kValue;
};

/// Returns the flags that the file states by these words. The place of a flag is its key.
[[nodiscard]] std::vector<Argument> arguments_of_words(const Settings& settings, std::span<const Word> words);

/// Returns the argument that a key without a word stands for: num_layers: 4 is --num-layers 4, and bias: false is
/// nothing. Values of lists are parted.
[[nodiscard]] std::optional<Argument> argument_of_key(std::string name, const Json& value, const std::string& place);

}  // namespace foretoken::io::launch

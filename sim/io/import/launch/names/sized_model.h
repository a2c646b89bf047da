// A row of sizes that a model's name stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace foretoken::io::launch {

/// Sizes of a model as its config.json has them. Names have letters and digits only.
struct Sized {
  std::string_view name, type;  ///< "llama321b", and the model_type
  std::int64_t layers, hidden, heads, groups, head_dim, width, vocabulary;
  bool tied = false;  ///< the head is the table of tokens
};

/// A model whose sizes fit no such row: experts, or keys of its own.
struct Configured {
  std::string_view name, config;  ///< "olmoe1b7b0924", and its config.json
};
[[nodiscard]] std::span<const Configured> configured_models();

/// Returns rows of models since 2024 and of smaller families: OLMo, Gemma 3, StarCoder 2, Command R.
[[nodiscard]] std::span<const Sized> more_sized_models();

}  // namespace foretoken::io::launch

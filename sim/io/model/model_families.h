// Lists the families of models whose configs we can read.
#pragma once

#include <span>
#include <string_view>

#include "sim/io/json/node.h"
#include "sim/model/transformer.h"

namespace foretoken::io {

/// The reader of configs of one `model_type`.
struct ModelFamily {
  std::string_view type;
  std::span<const std::string_view> keys;          ///< keys that affect the answer
  void (*read)(const Node&, model::Transformer&);  ///< fills sizes and kinds; complains about wrong values
};

/// Lists all families: gpt (GPT-2's names for any GPT), gpt2, gpt_neox, opt, bloom, mpt, llama, mistral, qwen2 and
/// nemotron; then those of newer_families.h, llama_variants.h, expert_families.h and encoder_families.h, and megatron,
/// which has no family of its own but the words of Megatron-LM.
[[nodiscard]] std::span<const ModelFamily> model_families();

}  // namespace foretoken::io

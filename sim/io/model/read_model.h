// A transformer from a Hugging Face config.json, or from one of our models/*.json, which use the same field names.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/json/node.h"
#include "sim/model/transformer.h"

namespace foretoken::io {

/// Reads a model by its `model_type`: gpt2, gpt (GPT-2's names for any GPT), gpt_neox, opt, bloom, mpt, llama, mistral,
/// qwen2, nemotron. Keys that do not bear on shapes (token ids, generation settings, ...) are ignored by name; keys
/// that would change the answer in ways we do not model (experts, latent or sliding-window attention, ...) are refused.
/// `fallback_name` is taken when the file names itself neither by `name` nor by `_name_or_path`.
[[nodiscard]] model::Transformer read_model(const Node& node, std::string_view fallback_name = {});

}  // namespace foretoken::io

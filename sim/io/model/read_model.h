// Reads a transformer from a Hugging Face config.json, or from models/*.json, which use the same field names.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/json/node.h"
#include "sim/model/transformer.h"

namespace foretoken::io {

/// Reads a model by its `model_type`: gpt2, gpt (GPT-2's names for any GPT), gpt_neox, opt, bloom, mpt, llama, mistral,
/// qwen2, nemotron. Ignores known keys without effect on shapes (token ids, generation settings, ...). Refuses keys of
/// architectures that we do not model (experts, latent or sliding-window attention, ...).
/// `fallback_name` names a model whose file has neither `name` nor `_name_or_path`.
[[nodiscard]] model::Transformer read_model(const Node& node, std::string_view fallback_name = {});

}  // namespace foretoken::io

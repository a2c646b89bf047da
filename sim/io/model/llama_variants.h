// Lists the families of models whose layers are llama's but for a few settings.
#pragma once

#include <span>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists glm, glm4, chatglm, seed_oss, arcee, smollm3, helium, ernie4_5, internlm3, minicpm, exaone, qwen, baichuan,
/// stablelm, cohere2 and olmo3.
[[nodiscard]] std::span<const ModelFamily> llama_variants();

/// Lists ministral3, Yi, xverse, orion, internlm, hunyuan_v1_dense, mimo and jais2.
[[nodiscard]] std::span<const ModelFamily> later_variants();

/// Reads what HunYuan's dense layers and layers of experts share: norms of each head behind the rotation, biases in
/// attention alone. Source: transformers, modular_hunyuan_v1_dense.py and modeling_hunyuan_v1_moe.py.
void read_hunyuan_layer(const Node& node, model::Transformer& model);

/// Reads MiniCPM: llama with factors of the embedding, of residuals and of logits.
void read_minicpm(const Node& node, model::Transformer& model);

/// Reads what ERNIE 4.5 has with and without experts.
void read_ernie(const Node& node, model::Transformer& model);

}  // namespace foretoken::io

// Lists the families of models with experts.
#pragma once

#include <span>
#include <string_view>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss, llama4_text, glm4_moe, dbrx, grok-1, minimax_m2, granitemoe,
/// granitemoeshared and ernie4_5_moe.
[[nodiscard]] std::span<const ModelFamily> expert_families();

/// Lists phimoe, hunyuan_v1_moe, bailing_moe, bailing_moe_v2, flex_olmo and solar_open.
[[nodiscard]] std::span<const ModelFamily> later_experts();

/// Lists deepseek_v2, deepseek_v3, kimi_k2 and glm4_moe_lite: experts and multi-head latent attention; then deepseek
/// and dots1, which have the experts alone, and minicpm3 and youtu, which have the attention alone.
[[nodiscard]] std::span<const ModelFamily> latent_families();

/// Lists megatron: any transformer, in the words of Megatron-LM's arguments.
[[nodiscard]] std::span<const ModelFamily> megatron_families();

/// Returns `keys`, `more`, and the settings of routers and losses, which do not change a model's shape.
[[nodiscard]] std::vector<std::string_view> with_router_keys(std::span<const std::string_view> keys,
                                                             std::initializer_list<std::string_view> more);

}  // namespace foretoken::io

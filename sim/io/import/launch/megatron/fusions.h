// The switches of fused kernels of Megatron-Core, which its readers share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::megatron {

/// The answer states this of fused kernels.
inline constexpr const char* kKernelsFused = "kernels are fused as the runtime has them";

/// Boolean fields of TransformerConfig and ModelParallelConfig that fuse kernels: NVIDIA/Megatron-LM@002526d8,
/// megatron/core/transformer/transformer_config.py, and megatron/core/model_parallel_config.py for the last two.
inline constexpr std::string_view kFusions =
    "bias_activation_fusion masked_softmax_fusion persist_layer_norm memory_efficient_layer_norm bias_dropout_fusion "
    "apply_rope_fusion use_fused_weighted_squared_relu fused_single_qkv_rope use_transformer_engine_op_fuser "
    "fused_residual_rmsnorm use_te_activation_func moe_permute_fusion moe_permute_fusion_into_hybridep "
    "moe_router_fusion mla_down_proj_fusion gdn_pre_gated_delta_rule_fusion apply_dsa_kernel_fusion "
    "gradient_accumulation_fusion cross_entropy_loss_fusion";

/// Returns true for such a field, and for the flag of its name: moe_router_fusion, moe-router-fusion.
[[nodiscard]] inline bool is_fusion(std::string name) {
  std::ranges::replace(name, '-', '_');
  return lists_key(kFusions, name);
}

/// Lists the fusions below `section` ("model.") that no rule has asked for: one that is on is as in the runtime, one
/// that is off has no line of its own.
inline void list_fusions(const Settings& settings, std::string_view section) {
  for (const auto& [key, value] : settings.leaves()) {
    if (!key.starts_with(section) || settings.was_asked(key) || !is_fusion(key.substr(section.size()))) continue;
    if (settings.on({key}))
      settings.report().approximate(key, kKernelsFused);
    else
      settings.report().ignore(key, "");
  }
}

}  // namespace foretoken::io::launch::megatron

// Reads deepseek_v2, deepseek_v3 and kimi_k2: multi-head latent attention, and experts after the first layers.
//
// Names and defaults come from transformers, src/transformers/models/deepseek_v{2,3}/configuration_*.py. Kimi K2's
// configs have DeepSeek-V3's names (moonshotai/Kimi-K2-Base, config.json).
#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "sim/io/model/expert_families.h"
#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

using model::Experts;
using model::LatentAttention;
using model::Transformer;

constexpr WholeRange kFew{.low = 0, .high = 1 << 20};

LatentAttention read_latent(const Node& node) {
  return {.query_rank = node.find_whole("q_lora_rank", kWidth).value_or(0),
          .kv_rank = node.whole("kv_lora_rank", kWidth),
          .nope_dim = node.whole("qk_nope_head_dim", kWidth),
          .rope_dim = node.whole("qk_rope_head_dim", kWidth),
          .value_dim = node.whole("v_head_dim", kWidth)};
}

Experts read_routed(const Node& node, std::int64_t layers) {
  Experts experts = read_expert_counts(node, "n_routed_experts", "num_experts_per_tok");
  experts.width = node.whole("moe_intermediate_size", kWidth);
  experts.shared_width = experts.width * node.whole_or("n_shared_experts", 0, kFew);
  experts.dense_first = read_first_dense(node, layers, 0);
  if (node.whole_or("moe_layer_freq", 1, kLayers) != 1)
    node.complain("moe_layer_freq", "expected 1: experts in every layer after the first dense ones");
  return experts;
}

// Keys and values have as many heads as queries once they are wide.
void read_deepseek_v2(const Node& node, Transformer& model) {
  read_llama(node, model);
  require_switch(node, "attention_bias", false, "no published DeepSeek model has biases");
  model.kv_heads = model.heads;
  model.latent = read_latent(node);
  model.head_dim = model.latent->query_dim();
  model.experts = read_routed(node, model.layers);
}

// The choice of experts has a bias (topk_method "noaux_tc").
void read_deepseek_v3(const Node& node, Transformer& model) {
  read_deepseek_v2(node, model);
  model.experts->router_bias = node.text_or("topk_method", "noaux_tc") == "noaux_tc";
  model.prediction_layers = node.whole_or("num_nextn_predict_layers", 0, {.low = 0, .high = 16});
}

}  // namespace

std::span<const ModelFamily> latent_families() {
  static const std::vector<std::string_view> kDeepSeek = with_router_keys(
      kLlamaKeys, {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "qk_head_dim",
                   "n_routed_experts", "n_shared_experts", "moe_intermediate_size", "first_k_dense_replace",
                   "moe_layer_freq", "num_nextn_predict_layers", "rope_interleave"});
  static const ModelFamily kFamiliesWithLatents[] = {{"deepseek_v2", kDeepSeek, read_deepseek_v2},
                                                     {"deepseek_v3", kDeepSeek, read_deepseek_v3},
                                                     {"kimi_k2", kDeepSeek, read_deepseek_v3}};
  return kFamiliesWithLatents;
}

}  // namespace foretoken::io

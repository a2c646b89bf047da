// Reads models with DeepSeek's experts after the first layers, with multi-head latent attention, or with both:
// deepseek, deepseek_v2, deepseek_v3, kimi_k2, glm4_moe_lite, dots1, minicpm3 and youtu.
//
// Names and defaults come from transformers, src/transformers/models/{deepseek_v2,deepseek_v3,glm4_moe_lite,dots1,
// minicpm3,youtu}/configuration_*.py and modular_*.py, and from deepseek-ai/deepseek-moe-16b-base. Kimi K2's configs
// have DeepSeek-V3's names (moonshotai/Kimi-K2-Base, config.json).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "sim/io/model/expert_families.h"
#include "sim/io/model/family_parts.h"
#include "sim/io/model/llama_variants.h"

namespace foretoken::io {
namespace {

using model::Experts;
using model::LatentAttention;
using model::QkNorm;
using model::Transformer;

constexpr WholeRange kFew{.low = 0, .high = 1 << 20};

// `usual` is the width of a head of values where no key states it; 0: a key must.
LatentAttention read_latent(const Node& node, std::int64_t usual = 0) {
  return {.query_rank = node.find_whole("q_lora_rank", kWidth).value_or(0),
          .kv_rank = node.whole("kv_lora_rank", kWidth),
          .nope_dim = node.whole("qk_nope_head_dim", kWidth),
          .rope_dim = node.whole("qk_rope_head_dim", kWidth),
          .value_dim = usual > 0 ? node.whole_or("v_head_dim", usual, kWidth) : node.whole("v_head_dim", kWidth)};
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
void set_latent(const LatentAttention& latent, Transformer& model) {
  model.kv_heads = model.heads;
  model.latent = latent;
  model.head_dim = latent.query_dim();
}

void read_deepseek_v2(const Node& node, Transformer& model) {
  read_llama(node, model);
  require_switch(node, "attention_bias", false, "no published DeepSeek model has biases");
  set_latent(read_latent(node), model);
  model.experts = read_routed(node, model.layers);
}

// The choice of experts has a bias (topk_method "noaux_tc").
void read_deepseek_v3(const Node& node, Transformer& model) {
  read_deepseek_v2(node, model);
  model.experts->router_bias = node.text_or("topk_method", "noaux_tc") == "noaux_tc";
  model.prediction_layers = node.whole_or("num_nextn_predict_layers", 0, {.low = 0, .high = 16});
}

// DeepSeekMoE of 2024, whose attention is llama's
void read_deepseek(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.experts = read_routed(node, model.layers);
}

// Attention of Qwen 3, experts of DeepSeek-V3
void read_dots1(const Node& node, Transformer& model) {
  read_deepseek(node, model);
  model.qk_norm = QkNorm::kHead;
  model.experts->router_bias = true;
}

// DeepSeek-V3's attention beside an MLP
void read_youtu(const Node& node, Transformer& model) {
  read_llama(node, model);
  require_switch(node, "attention_bias", false, "no published Youtu has biases");
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  set_latent(read_latent(node), model);
}

void read_minicpm3(const Node& node, Transformer& model) {
  read_minicpm(node, model);
  require_switch(node, "attention_bias", false, "no published MiniCPM has biases");
  set_latent(read_latent(node, std::max<std::int64_t>(1, model.hidden / model.heads)), model);
}

// Later versions list the kind of every layer; the dense ones must be the first.
void read_dense_of_list(const Node& node, std::int64_t layers, Experts& experts) {
  constexpr const char* kTypes = "mlp_layer_types";
  const auto types = node.find_array(kTypes);
  if (!types) return;
  if (static_cast<std::int64_t>(types->size()) != layers)
    return node.complain(kTypes,
                         fmt::format("expected {} entries, one for each layer, found {}", layers, types->size()));
  bool sparse = false;
  experts.dense_first = 0;
  for (const Node& type : *types) {
    const bool dense = type.as_text() == "dense";
    if (!dense) sparse = true;
    if (dense && sparse) return type.complain("expected \"sparse\": dense layers behind others are not supported");
    if (dense) ++experts.dense_first;
  }
  if (!sparse) node.complain(kTypes, "expected some \"sparse\": no layer has experts");
}

// GLM-4.7-Flash: DeepSeek-V3 with a shared expert and a dense first layer where no key says otherwise
void read_glm_lite(const Node& node, Transformer& model) {
  read_deepseek_v3(node, model);
  Experts& experts = *model.experts;
  if (!node.has("n_shared_experts")) experts.shared_width = experts.width;
  if (!node.has("first_k_dense_replace")) experts.dense_first = 1;
  read_dense_of_list(node, model.layers, experts);
}

}  // namespace

std::span<const ModelFamily> latent_families() {
  static const std::vector<std::string_view> kDeepSeek = with_router_keys(
      kLlamaKeys, {"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "qk_head_dim",
                   "n_routed_experts", "n_shared_experts", "moe_intermediate_size", "first_k_dense_replace",
                   "moe_layer_freq", "num_nextn_predict_layers", "rope_interleave"});
  static const std::vector<std::string_view> kRouted = with_router_keys(
      kLlamaKeys,
      {"n_routed_experts", "n_shared_experts", "moe_intermediate_size", "first_k_dense_replace", "moe_layer_freq"});
  static const std::vector<std::string_view> kGlmLite = [] {
    std::vector<std::string_view> keys = kDeepSeek;
    keys.emplace_back("mlp_layer_types");
    return keys;
  }();
  static const std::vector<std::string_view> kMinicpm3 =
      with_llama_keys({"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                       "qk_head_dim", "scale_emb", "scale_depth", "dim_model_base"});
  static const std::vector<std::string_view> kYoutu =
      with_llama_keys({"q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                       "qk_head_dim", "rope_interleave", "embedding_initializer_range"});
  static const ModelFamily kFamiliesWithLatents[] = {
      {"deepseek_v2", kDeepSeek, read_deepseek_v2}, {"deepseek_v3", kDeepSeek, read_deepseek_v3},
      {"kimi_k2", kDeepSeek, read_deepseek_v3},     {"glm4_moe_lite", kGlmLite, read_glm_lite},
      {"deepseek", kRouted, read_deepseek},         {"dots1", kRouted, read_dots1},
      {"minicpm3", kMinicpm3, read_minicpm3},       {"youtu", kYoutu, read_youtu}};
  return kFamiliesWithLatents;
}

}  // namespace foretoken::io

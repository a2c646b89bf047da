// Reads phimoe, hunyuan_v1_moe, bailing_moe, bailing_moe_v2, flex_olmo and solar_open.
//
// Names and defaults of phimoe, hunyuan_v1_moe, flex_olmo and solar_open come from transformers,
// src/transformers/models/*/configuration_*.py; the weights come from the modeling_*.py and modular_*.py beside them.
// Names and defaults of bailing_moe come from inclusionAI/Ling, models/configuration_bailing_moe.py, and vllm,
// vllm/model_executor/models/bailing_moe.py.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "sim/io/model/expert_families.h"
#include "sim/io/model/family_parts.h"
#include "sim/io/model/llama_variants.h"

namespace foretoken::io {
namespace {

using model::Experts;
using model::Norm;
using model::NormPlaces;
using model::QkNorm;
using model::Transformer;

constexpr WholeRange kSharedExperts{.low = 0, .high = 1024}, kManyExperts{.low = 1, .high = 1 << 20};

// modeling_phimoe.py: layer norms, biases in attention alone, experts of the MLP's width
void read_phimoe(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  model.activation = gated_activation(node, "hidden_act");
  read_attention_biases(node, "attention_bias", false, model);
  model.head_bias = node.boolean_or("lm_head_bias", false);
  require_switch(node, "mlp_bias", false, "transformers has no Phi-MoE with biases in its experts");
  if (node.number_or("expert_dropout", 0, kFraction) != 0)
    node.complain("expert_dropout", "expected 0: dropout in experts is not supported");
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

/// Reads a number, or a list of one number for each layer, which must be equal.
std::optional<std::int64_t> find_same_in_layers(const Node& node, std::string_view key, WholeRange range) {
  if (!node.child(key).value().is_array()) return node.find_whole(key, range);
  std::optional<std::int64_t> same;
  for (const Node& of_layer : node.array(key)) {
    const std::int64_t number = of_layer.as_whole(range);
    if (same && *same != number) {
      of_layer.complain(fmt::format("expected {} as in the layers before: other layers are not supported", *same));
      break;
    }
    same = number;
  }
  return same;
}

std::int64_t same_in_layers(const Node& node, std::string_view key, WholeRange range) {
  const std::optional<std::int64_t> same = find_same_in_layers(node, key, range);
  return same ? *same : node.whole(key, range);  // complains that it is missing
}

// modeling_hunyuan_v1_moe.py: every layer has experts and one shared MLP of the same width
void read_hunyuan_moe(const Node& node, Transformer& model) {
  constexpr const char *kOwnWidth = "moe_intermediate_size", *kShared = "num_shared_expert", *kCount = "num_experts",
                       *kChosen = "moe_topk", *kDense = "moe_layer_num_skipped";
  read_hunyuan_layer(node, model);
  require_switch(node, "use_mla", false, "latent attention of HunYuan is not supported");
  (void)node.find_boolean("use_mixed_mlp_moe");
  const std::size_t wrong = node.findings().complaints.size();
  Experts& experts = model.experts.emplace();
  experts = {.count = same_in_layers(node, kCount, kManyExperts),
             .per_token = same_in_layers(node, kChosen, kManyExperts),
             .width = model.ffn_hidden,
             .shared_width = model.ffn_hidden,
             .popularity_shape = read_popularity_shape(node)};
  const std::int64_t width = find_same_in_layers(node, kOwnWidth, kWidth).value_or(model.ffn_hidden);
  const std::int64_t shared = find_same_in_layers(node, kShared, kSharedExperts).value_or(1);
  const std::int64_t dense = node.whole_or(kDense, 0, {.low = 0});
  if (node.findings().complaints.size() > wrong) return;
  if (experts.per_token > experts.count)
    node.complain(kChosen, fmt::format("expected at most {}, the experts of a layer, found {}", experts.count,
                                       experts.per_token));
  if (width != model.ffn_hidden)
    node.complain(kOwnWidth, fmt::format("expected {} as intermediate_size, found {}: transformers has one width",
                                         model.ffn_hidden, width));
  if (shared != 1) node.complain(kShared, fmt::format("expected 1, found {}: transformers has one shared MLP", shared));
  if (dense != 0) node.complain(kDense, fmt::format("expected 0, found {}: all layers have experts", dense));
}

// Ling 1 and 2. The code takes biases where no key speaks of them, and no published model has them: use_bias is stated.
void read_bailing(const Node& node, Transformer& model) {
  constexpr const char* kSharedWidth = "moe_shared_expert_intermediate_size";
  read_unbiased(node, model);
  if (node.boolean("use_bias"))
    node.complain("use_bias", "expected false, found true: no published Ling has biases in experts");
  require_switch(node, "use_rmsnorm", true, "no published Ling has layer norms");
  model.qkv_bias = node.boolean_or("use_qkv_bias", false);
  if (node.boolean_or("use_qk_norm", false)) model.qk_norm = QkNorm::kHead;
  model.hidden_dropout = node.number_or("output_dropout", 0, kFraction);
  (void)node.number_or("embedding_dropout", 0, kFraction);
  model.experts = read_expert_counts(node, "num_experts", "num_experts_per_tok");
  Experts& experts = *model.experts;
  experts.width = node.whole("moe_intermediate_size", kWidth);
  if (node.has(kSharedWidth)) (void)name_of_size(node, "moe_intermediate_size", kSharedWidth);
  experts.shared_width = experts.width * node.whole_or("num_shared_experts", 0, kSharedExperts);
  experts.dense_first = read_first_dense(node, model.layers, 0);
  experts.router_bias = node.boolean_or("moe_router_enable_expert_bias", false);
  model.prediction_layers = node.whole_or("num_nextn_predict_layers", 0, {.low = 0, .high = 16});
}

// modular_flex_olmo.py: the layer of OLMo 2 with the experts of OLMoE
void read_flex_olmo(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.norm_places = NormPlaces::kBehind;
  model.qk_norm = QkNorm::kAllHeads;
  model.experts = read_expert_counts(node, "num_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

// modular_solar_open.py: experts of GLM 4 in every layer, whose attention is llama's without a bias of the projection
void read_solar(const Node& node, Transformer& model) {
  constexpr const char *kOwnWidth = "moe_intermediate_size", *kDense = "first_k_dense_replace";
  read_unbiased(node, model, kOwnWidth);
  model.qkv_bias = node.boolean_or("attention_bias", false);
  require_switch(node, "use_qk_norm", false, "no Solar Open has norms of queries and keys");
  model.experts = read_expert_counts(node, "n_routed_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
  model.experts->shared_width = model.ffn_hidden * node.whole_or("n_shared_experts", 1, kSharedExperts);
  model.experts->router_bias = true;
  if (node.whole_or(kDense, 0, {.low = 0}) != 0) node.complain(kDense, "expected 0: all layers have experts");
}

}  // namespace

std::span<const ModelFamily> later_experts() {
  using Keys = std::vector<std::string_view>;
  static const Keys kPhimoe = with_router_keys(
                        kLlamaKeys, {"num_local_experts", "lm_head_bias", "input_jitter_noise", "expert_dropout"}),
                    kHunyuanMoe = with_router_keys(
                        kLlamaKeys, {"num_experts", "moe_topk", "moe_intermediate_size", "num_shared_expert",
                                     "use_mixed_mlp_moe", "use_qk_norm", "use_cla", "cla_share_factor", "use_mla",
                                     "moe_layer_num_skipped", "moe_drop_tokens", "moe_random_routing_dropped_token"}),
                    kBailing = with_router_keys(
                        kLlamaKeys, {"use_bias", "use_qkv_bias", "use_qk_norm", "use_rmsnorm", "output_dropout",
                                     "embedding_dropout", "num_experts", "num_shared_experts", "moe_intermediate_size",
                                     "moe_shared_expert_intermediate_size", "first_k_dense_replace",
                                     "moe_router_enable_expert_bias", "num_nextn_predict_layers", "score_function",
                                     "router_dtype"}),
                    kFlexOlmo = with_router_keys(kLlamaKeys, {"num_experts"}),
                    kSolar =
                        with_router_keys(kLlamaKeys, {"n_routed_experts", "n_shared_experts", "moe_intermediate_size",
                                                      "first_k_dense_replace", "use_qk_norm"});
  static const ModelFamily kLaterExperts[] = {
      {"phimoe", kPhimoe, read_phimoe},         {"hunyuan_v1_moe", kHunyuanMoe, read_hunyuan_moe},
      {"bailing_moe", kBailing, read_bailing},  {"bailing_moe_v2", kBailing, read_bailing},
      {"flex_olmo", kFlexOlmo, read_flex_olmo}, {"solar_open", kSolar, read_solar}};
  return kLaterExperts;
}

}  // namespace foretoken::io

// Reads mixtral, qwen2_moe, qwen3_moe, olmoe, gpt_oss, llama4_text, glm4_moe, dbrx, grok-1, minimax_m2, granitemoe,
// granitemoeshared and ernie4_5_moe.
//
// Names and defaults come from transformers, src/transformers/models/*/configuration_*.py, and from the configs'
// own repositories (xai-org/grok-1, MiniMaxAI/MiniMax-M2). The weights come from the modeling_*.py beside them.
#include "sim/io/model/expert_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "sim/io/model/family_parts.h"
#include "sim/io/model/llama_variants.h"
#include "sim/io/model/model_keys.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Experts;
using model::Norm;
using model::NormPlaces;
using model::Positions;
using model::QkNorm;
using model::Transformer;

// The experts have the width of the dense model's MLP.
void read_mixtral(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

/// Reads the layers that keep an MLP. They must be the first of the model.
std::int64_t dense_layers(const Node& node) {
  const auto listed = node.find_array("mlp_only_layers");
  if (!listed) return 0;
  std::int64_t dense = 0;
  for (const Node& layer : *listed)
    if (layer.as_whole({.low = 0}) != dense++) {
      layer.complain("expected the first layers of the model in order: dense layers elsewhere are not supported");
      break;
    }
  return dense;
}

void read_qwen_experts(const Node& node, Transformer& model) {
  model.experts = read_expert_counts(node, "num_experts", "num_experts_per_tok");
  model.experts->width = node.whole("moe_intermediate_size", kWidth);
  model.experts->every = node.whole_or("decoder_sparse_step", 1, kLayers);
  model.experts->dense_first = dense_layers(node);
}

// modeling_qwen2_moe.py: biases of q, k and v; one shared expert with a gate of one output
void read_qwen2_moe(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.qkv_bias = node.boolean_or("qkv_bias", true);
  read_qwen_experts(node, model);
  model.experts->shared_width = node.whole("shared_expert_intermediate_size", kWidth);
  model.experts->shared_gate = true;
}

void read_qwen3_moe(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.qk_norm = QkNorm::kHead;
  require_switch(node, "use_qk_norm", true, "no published Qwen3 is without norms of queries and keys");
  read_qwen_experts(node, model);
}

void read_olmoe(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.qk_norm = QkNorm::kAllHeads;
  (void)node.find_number("clip_qkv");
  model.experts = read_expert_counts(node, "num_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

// modeling_gpt_oss.py: biases of all linears, of the router and of every expert; one sink a head
void read_gpt_oss(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kRmsNorm;
  model.activation = gated_activation(node, "hidden_act");
  model.qkv_bias = model.linear_bias = true;
  require_switch(node, "attention_bias", true, "GPT-OSS without biases is not supported");
  model.attention_sinks = true;
  read_local_layers(node, 2, model);
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
  model.experts->router_bias = true;
}

// moe_layers lists the layers with experts, and wins over the step (configuration_llama4.py). An empty list leaves
// none.
void read_layers_of_llama4(const Node& node, Transformer& model) {
  const auto listed = node.find_array("moe_layers");
  const std::int64_t step = node.whole_or("interleave_moe_layer_step", 1, kLayers);
  Experts& experts = *model.experts;
  experts.every = step;
  if (!listed) return;
  if (listed->empty()) return model.experts.reset();
  std::vector<std::int64_t> layers;
  for (const Node& layer : *listed) layers.push_back(layer.as_whole({.low = 0, .high = model.layers - 1}));
  const std::int64_t first = layers.front(), next = layers.size() > 1 ? layers[1] - first : model.layers - first;
  experts.every = std::max<std::int64_t>(next, 1);
  experts.dense_first = experts.every == 1 ? first : 0;
  std::vector<std::int64_t> expected;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    if (experts.in_layer(layer)) expected.push_back(layer);
  if (layers != expected)
    node.complain("moe_layers", "expected every n-th layer of the model, or all layers behind the first dense ones");
}

// A chunk of attention bounds what a query sees. Sequences up to a chunk have full attention.
void read_llama4(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kRmsNorm;
  model.activation = gated_activation(node, "hidden_act");
  require_switch(node, "attention_bias", false, "no published Llama 4 has biases");
  model.attention_window = node.whole_or("attention_chunk_size", 0, {.low = 0});
  // modeling_llama4.py, Llama4TextL2Norm: without weights, in layers with rotary positions (counted in every layer)
  if (node.boolean_or("use_qk_norm", true)) model.qk_norm = QkNorm::kPlainHead;
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.experts->shared_width = model.ffn_hidden;
  model.ffn_hidden = node.whole_or("intermediate_size_mlp", model.ffn_hidden, kWidth);
  read_layers_of_llama4(node, model);
}

// modeling_glm4_moe.py: attention_bias adds biases to q, k and v only
void read_glm4_moe(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kRmsNorm;
  model.activation = gated_activation(node, "hidden_act");
  model.qkv_bias = node.boolean_or("attention_bias", false);
  if (node.boolean_or("use_qk_norm", false)) model.qk_norm = QkNorm::kHead;
  model.experts = read_expert_counts(node, "n_routed_experts", "num_experts_per_tok");
  model.experts->width = node.whole("moe_intermediate_size", kWidth);
  model.experts->shared_width = model.experts->width * node.whole_or("n_shared_experts", 1, {.low = 0, .high = 1024});
  model.experts->dense_first = read_first_dense(node, model.layers, 1);
  model.experts->router_bias = true;
  model.prediction_layers = node.whole_or("num_nextn_predict_layers", 0, {.low = 0, .high = 16});
}

void read_dbrx_attention(const Node& attention, Transformer& model) {
  attention.allow_only({"kv_n_heads", "clip_qkv", "rope_theta", "attn_pdrop", "model_type"});
  model.kv_heads = attention.whole_or("kv_n_heads", 1, kWidth);
  model.attention_dropout = attention.number_or("attn_pdrop", 0, kFraction);
}

void read_dbrx_experts(const Node& ffn, Transformer& model) {
  ffn.allow_only({"ffn_hidden_size", "moe_num_experts", "moe_top_k", "ffn_act_fn", "moe_jitter_eps", "moe_loss_weight",
                  "moe_normalize_expert_weights", "uniform_expert_assignment", "model_type"});
  model.experts = read_expert_counts(ffn, "moe_num_experts", "moe_top_k");
  model.experts->width = ffn.whole("ffn_hidden_size", kWidth);
  model.ffn_hidden = model.experts->width;
}

void read_dbrx(const Node& node, Transformer& model) {
  read_sizes(node, {"n_layers", "d_model", "n_heads", "vocab_size"}, model);
  (void)node.find_whole("max_seq_len", kPositionsRange);
  model.positions = Positions::kRotary;
  model.activation = Activation::kSwiGlu;
  model.norm_bias = model.linear_bias = model.qkv_bias = false;
  model.hidden_dropout = node.number_or("resid_pdrop", 0, kFraction);
  (void)node.number_or("emb_pdrop", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
  read_dbrx_attention(node.object("attn_config"), model);
  read_dbrx_experts(node.object("ffn_config"), model);
  model.experts->popularity_shape = read_popularity_shape(node);  // beside the model's other keys, as in all families
}

// xai-org/grok-1, model.py: norms before and behind attention and experts, scaled embeddings that are tied
void read_grok(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kRmsNorm;
  model.norm_places = NormPlaces::kBoth;
  model.activation = Activation::kGeGlu;
  model.scaled_embedding = true;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  model.experts = read_expert_counts(node, "num_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

// modeling_minimax_m2.py: norms of all queries and of all keys, a bias of the choice of experts
void read_minimax(const Node& node, Transformer& model) {
  read_llama(node, model);
  const bool normed = node.boolean_or("use_qk_norm", true);
  (void)node.one_of_or("qk_norm_type", true, {{"per_layer", true}});
  model.qk_norm = normed ? QkNorm::kAllHeads : QkNorm::kNone;
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
  model.experts->router_bias = node.boolean_or("use_routing_bias", true);
  model.experts->shared_width = node.whole_or("shared_intermediate_size", 0, {.low = 0, .high = kWidth.high});
  if (node.boolean_or("use_mtp", false))
    model.prediction_layers = node.whole_or("num_mtp_modules", 1, {.low = 0, .high = 16}) *
                              node.whole_or("mtp_transformer_layers", 1, {.low = 0, .high = 16});
  if (const auto types = node.find_array("attn_type_list"))
    for (const Node& type : *types)
      if (type.as_whole() != 1) return type.complain("expected 1: layers of linear attention are not supported");
}

// modeling_granitemoe.py: one product for gate and up of each expert, which have the MLP's width
void read_granitemoe(const Node& node, Transformer& model) {
  read_granite(node, model);
  model.experts = read_expert_counts(node, "num_local_experts", "num_experts_per_tok");
  model.experts->width = model.ffn_hidden;
}

void read_granitemoeshared(const Node& node, Transformer& model) {
  read_granitemoe(node, model);
  model.experts->shared_width = node.whole("shared_intermediate_size", {.low = 0, .high = kWidth.high});
}

// modeling_ernie4_5_moe.py: a bias of the choice of experts, which does not train
void read_ernie_moe(const Node& node, Transformer& model) {
  constexpr const char* kLast = "moe_layer_end_index";
  read_ernie(node, model);
  require_switch(node, "use_bias", false, "no published ERNIE 4.5 has biases");
  model.experts = read_expert_counts(node, "moe_num_experts", "moe_k");
  Experts& experts = *model.experts;
  experts.width = node.whole("moe_intermediate_size", kWidth);
  experts.shared_width = experts.width * node.whole_or("moe_num_shared_experts", 2, {.low = 0, .high = 1024});
  experts.dense_first = read_first_dense(node, model.layers, 1, "moe_layer_start_index");
  experts.every = node.whole_or("moe_layer_interval", 1, kLayers);
  experts.router_bias = true;
  const std::size_t complaints = node.findings().complaints.size();
  const std::int64_t last = node.whole_or(kLast, -1, {.low = -1});
  if (node.findings().complaints.size() > complaints) return;
  if (last != -1 && last < model.layers - 1)
    node.complain(kLast, "expected -1 or the last layer: dense layers behind those with experts are not supported");
}

constexpr std::string_view kRouterKeys[] = {"router_aux_loss_coef",
                                            "expert_popularity_shape",
                                            "router_z_loss_coef",
                                            "router_jitter_noise",
                                            "output_router_logits",
                                            "norm_topk_prob",
                                            "scoring_func",
                                            "topk_method",
                                            "topk_group",
                                            "n_group",
                                            "routed_scaling_factor",
                                            "aux_loss_alpha",
                                            "seq_aux",
                                            "ep_size",
                                            "num_experts_per_tok",
                                            "moe_router_dtype"};

constexpr std::string_view kDbrxKeys[] = {"n_layers",    "d_model",     "n_heads",
                                          "vocab_size",  "max_seq_len", "resid_pdrop",
                                          "emb_pdrop",   "clip_qkv",    "tie_word_embeddings",
                                          "attn_config", "ffn_config",  "move_model_to_device"};

}  // namespace

std::vector<std::string_view> with_router_keys(std::span<const std::string_view> keys,
                                               std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> all(keys.begin(), keys.end());
  all.insert(all.end(), more);
  all.insert(all.end(), std::begin(kRouterKeys), std::end(kRouterKeys));
  return all;
}

std::span<const ModelFamily> expert_families() {
  using Keys = std::vector<std::string_view>;
  static const Keys kMixtral = with_router_keys(kLlamaKeys, {"num_local_experts"});
  static const Keys kQwen =
      with_router_keys(kLlamaKeys, {"num_experts", "moe_intermediate_size", "shared_expert_intermediate_size",
                                    "decoder_sparse_step", "mlp_only_layers", "qkv_bias", "use_qk_norm"});
  static const Keys kOlmoe = with_router_keys(kLlamaKeys, {"num_experts", "clip_qkv"});
  static const Keys kGptOss =
      with_router_keys(kLlamaKeys, {"num_local_experts", "experts_per_token", "initial_context_length", "swiglu_limit",
                                    "layer_types", "sliding_window"});
  static const Keys kLlama4 = with_router_keys(
      kLlamaKeys, {"num_local_experts", "intermediate_size_mlp", "interleave_moe_layer_step", "attention_chunk_size",
                   "moe_layers", "no_rope_layers", "no_rope_layer_interval", "use_qk_norm", "attn_temperature_tuning",
                   "floor_scale", "attn_scale", "layer_types", "for_llm_compressor"});
  static const Keys kGlm =
      with_router_keys(kLlamaKeys, {"n_routed_experts", "n_shared_experts", "moe_intermediate_size",
                                    "first_k_dense_replace", "num_nextn_predict_layers", "use_qk_norm"});
  static const Keys kDbrx = with_router_keys(kDbrxKeys, {});
  static const Keys kGrok = with_router_keys(kLlamaKeys, {"num_experts"});
  static const Keys kMinimax = with_router_keys(
      kLlamaKeys, {"num_local_experts", "use_qk_norm", "qk_norm_type", "use_routing_bias", "use_mtp", "num_mtp_modules",
                   "mtp_transformer_layers", "shared_intermediate_size", "attn_type_list"});
  static const Keys kGraniteMoe = with_router_keys(granite_keys(), {"num_local_experts"});
  static const Keys kGraniteShared =
      with_router_keys(granite_keys(), {"num_local_experts", "shared_intermediate_size"});
  static const Keys kErnieMoe = with_router_keys(
      kLlamaKeys, {"use_bias", "moe_num_experts", "moe_k", "moe_intermediate_size", "moe_num_shared_experts",
                   "moe_layer_start_index", "moe_layer_end_index", "moe_layer_interval", "moe_capacity", "moe_gate",
                   "moe_use_aux_free", "moe_norm_min"});
  static const ModelFamily kFamiliesWithExperts[] = {{"mixtral", kMixtral, read_mixtral},
                                                     {"qwen2_moe", kQwen, read_qwen2_moe},
                                                     {"qwen3_moe", kQwen, read_qwen3_moe},
                                                     {"olmoe", kOlmoe, read_olmoe},
                                                     {"gpt_oss", kGptOss, read_gpt_oss},
                                                     {"llama4_text", kLlama4, read_llama4},
                                                     {"glm4_moe", kGlm, read_glm4_moe},
                                                     {"dbrx", kDbrx, read_dbrx},
                                                     {"grok-1", kGrok, read_grok},
                                                     {"minimax_m2", kMinimax, read_minimax},
                                                     {"granitemoe", kGraniteMoe, read_granitemoe},
                                                     {"granitemoeshared", kGraniteShared, read_granitemoeshared},
                                                     {"ernie4_5_moe", kErnieMoe, read_ernie_moe}};
  return kFamiliesWithExperts;
}

}  // namespace foretoken::io

// Reads "megatron": a transformer in the words of Megatron-LM's arguments, which can combine what families fix.
//
// Names: NVIDIA/Megatron-LM core 0.12, megatron/training/arguments.py, with _ for -. foretoken import writes them.
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/io/model/expert_families.h"
#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Experts;
using model::LatentAttention;
using model::Norm;
using model::Positions;
using model::QkNorm;
using model::Transformer;

constexpr WholeRange kFewOrNone{.low = 0, .high = 1 << 24};

// Megatron-LM's T5 (pretrain_t5.py): both halves share one embedding with its positions.
void read_halves(const Node& node, Transformer& model) {
  model::EncoderDecoder& halves = model.encoder_decoder.emplace();
  halves.encoder_layers = model.layers;
  model.layers += node.whole("decoder_num_layers", kLayers);
  if (node.has("num_layers"))
    node.complain("num_layers", "expected only without encoder_num_layers and decoder_num_layers; remove it");
}

// relative_attention_num_buckets is 32 unless stated (megatron/training/arguments.py).
void read_relative_positions(const Node& node, Transformer& model) {
  const bool relative = node.child("position_embedding_type").value() == "relative";
  if (relative && model.encoder_decoder)
    model.encoder_decoder->position_buckets = node.whole_or("relative_attention_num_buckets", 32, kWidth);
  else if (relative)
    node.complain("position_embedding_type", "\"relative\" is supported with encoder_num_layers only");
  else if (node.has("relative_attention_num_buckets"))
    node.complain("relative_attention_num_buckets",
                  "expected only with position_embedding_type \"relative\"; remove it");
}

void read_megatron_sizes(const Node& node, Transformer& model) {
  const bool halves = node.has("encoder_num_layers");
  read_sizes(node, {halves ? "encoder_num_layers" : "num_layers", "hidden_size", "num_attention_heads", "vocab_size"},
             model);
  if (halves) read_halves(node, model);
  if (!halves && node.has("decoder_num_layers"))
    node.complain("decoder_num_layers", "expected only with encoder_num_layers; a decoder alone has num_layers");
  model.kv_heads = node.whole_or("num_query_groups", model.heads, kWidth);
  if (const auto head_dim = node.find_whole("kv_channels", kWidth)) model.head_dim = *head_dim;
  model.ffn_hidden = node.whole("ffn_hidden_size", kWidth);
  const auto positions = node.find_whole("max_position_embeddings", kPositionsRange);
  model.positions = node.one_of_or("position_embedding_type", Positions::kLearned,
                                   {{"learned_absolute", Positions::kLearned},
                                    {"rope", Positions::kRotary},
                                    {"alibi", Positions::kAlibi},
                                    {"relative", Positions::kNone},
                                    {"none", Positions::kNone}});
  read_relative_positions(node, model);
  if (model.positions != Positions::kLearned) return;
  model.max_positions = positions.value_or(1);
  if (!positions) node.complain("max_position_embeddings", "missing; expected the number of learned positions");
}

void read_megatron_layer(const Node& node, Transformer& model) {
  model.activation = node.one_of_or("activation", Activation::kGelu,
                                    {{"gelu", Activation::kGelu},
                                     {"swiglu", Activation::kSwiGlu},
                                     {"geglu", Activation::kGeGlu},
                                     {"squared_relu", Activation::kSquaredRelu},
                                     {"relu", Activation::kRelu}});
  constexpr const char *kNorm = "normalization", *kPlain = "non_parametric_layernorm";  // of GPT-NeoX
  model.norm =
      node.one_of_or(kNorm, Norm::kLayerNorm,
                     {{"LayerNorm", Norm::kLayerNorm}, {"RMSNorm", Norm::kRmsNorm}, {kPlain, Norm::kLayerNorm}});
  if (node.child(kNorm).value() == kPlain) model.norm_scale = model.norm_bias = false;
  model.linear_bias = node.boolean_or("add_bias_linear", true);
  model.qkv_bias = node.boolean_or("add_qkv_bias", model.linear_bias);
  if (node.boolean_or("qk_layernorm", false)) model.qk_norm = QkNorm::kHead;
  model.tied_embeddings = !node.boolean_or("untie_embeddings_and_output_weights", false);
  model.embedding_norm = node.boolean_or("embed_layernorm", false);
  model.parallel_residual = node.boolean_or("parallel_residual", false);
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.prediction_layers = node.whole_or("mtp_num_layers", 0, {.low = 0, .high = 16});
}

void read_megatron_experts(const Node& node, Transformer& model) {
  if (!node.has("num_experts")) return;
  Experts experts = read_expert_counts(node, "num_experts", "moe_router_topk");
  experts.width = node.whole_or("moe_ffn_hidden_size", model.ffn_hidden, kWidth);
  experts.shared_width = node.whole_or("moe_shared_expert_intermediate_size", 0, kFewOrNone);
  experts.shared_gate = node.boolean_or("moe_shared_expert_gate", false);
  experts.router_bias = node.boolean_or("moe_router_enable_expert_bias", false);
  experts.every = node.whole_or("moe_layer_freq", 1, kLayers);
  experts.dense_first = node.has("first_k_dense_replace") ? read_first_dense(node, model.layers, 0) : 0;
  model.experts = experts;
}

// Keys and values have as many heads as queries once they are wide.
void read_megatron_latent(const Node& node, Transformer& model) {
  if (!node.boolean_or("multi_latent_attention", false)) return;
  model.latent = LatentAttention{.query_rank = node.whole_or("q_lora_rank", 0, kFewOrNone),
                                 .kv_rank = node.whole("kv_lora_rank", kWidth),
                                 .nope_dim = node.whole("qk_head_dim", kWidth),
                                 .rope_dim = node.whole("qk_pos_emb_head_dim", kFewOrNone),
                                 .value_dim = node.whole("v_head_dim", kWidth)};
  model.qk_norm = QkNorm::kNone;  // qk_layernorm norms the narrow vectors, which every latent attention does
  model.kv_heads = model.heads;
  model.head_dim = model.latent->query_dim();
}

// A query sees `window_size` tokens, itself included, in all layers but every window_attn_skip_freq-th.
void read_megatron_windows(const Node& node, Transformer& model) {
  const auto window = node.find_whole("window_size", {.low = 1});
  if (!window && node.has("window_attn_skip_freq"))
    node.complain("window_attn_skip_freq", "expected only with window_size; remove it");
  if (!window) return;
  if (model.latent) node.complain("window_size", "not supported with multi_latent_attention; remove it");
  model.local = {.window = *window, .every = node.whole_or("window_attn_skip_freq", model.layers + 1, {.low = 2})};
}

// Parts of decoders that layers of two halves do not have here.
void refuse_parts_of_decoders(const Node& node, const Transformer& model) {
  if (!model.encoder_decoder) return;
  const auto refuse = [&](const char* key, bool present) {
    if (present) node.complain(key, "not supported with encoder_num_layers; remove it");
  };
  refuse("num_experts", model.experts.has_value());
  refuse("mtp_num_layers", model.prediction_layers > 0);
  refuse("multi_latent_attention", model.latent.has_value());
  refuse("qk_layernorm", model.qk_norm != QkNorm::kNone);
  refuse("parallel_residual", model.parallel_residual);
  refuse("window_size", model.local.window > 0);
}

void read_megatron(const Node& node, Transformer& model) {
  read_megatron_sizes(node, model);
  read_megatron_layer(node, model);
  read_megatron_experts(node, model);
  read_megatron_latent(node, model);
  read_megatron_windows(node, model);
  refuse_parts_of_decoders(node, model);
}

constexpr std::string_view kMegatronKeys[] = {"num_layers",
                                              "encoder_num_layers",
                                              "decoder_num_layers",
                                              "relative_attention_num_buckets",
                                              "hidden_size",
                                              "num_attention_heads",
                                              "vocab_size",
                                              "num_query_groups",
                                              "kv_channels",
                                              "ffn_hidden_size",
                                              "max_position_embeddings",
                                              "position_embedding_type",
                                              "activation",
                                              "normalization",
                                              "add_bias_linear",
                                              "add_qkv_bias",
                                              "qk_layernorm",
                                              "untie_embeddings_and_output_weights",
                                              "embed_layernorm",
                                              "parallel_residual",
                                              "hidden_dropout",
                                              "attention_dropout",
                                              "mtp_num_layers",
                                              "num_experts",
                                              "moe_router_topk",
                                              "moe_ffn_hidden_size",
                                              "moe_shared_expert_intermediate_size",
                                              "moe_shared_expert_gate",
                                              "moe_router_enable_expert_bias",
                                              "moe_layer_freq",
                                              "first_k_dense_replace",
                                              "multi_latent_attention",
                                              "q_lora_rank",
                                              "kv_lora_rank",
                                              "qk_head_dim",
                                              "qk_pos_emb_head_dim",
                                              "v_head_dim",
                                              "window_size",
                                              "window_attn_skip_freq"};

}  // namespace

std::span<const ModelFamily> megatron_families() {
  static const ModelFamily kFamily[] = {{"megatron", kMegatronKeys, read_megatron}};
  return kFamily;
}

}  // namespace foretoken::io

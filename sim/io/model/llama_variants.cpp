// Reads families whose layers are llama's but for biases, norms, names of keys or windows.
//
// Names and defaults come from transformers, src/transformers/models/*/configuration_*.py. Those of chatglm, minicpm,
// exaone, qwen and baichuan come from the configuration_*.py beside the models: THUDM/chatglm3-6b,
// openbmb/MiniCPM-2B-sft-bf16, LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct, Qwen/Qwen-7B, baichuan-inc/Baichuan2-13B-Base.
#include "sim/io/model/llama_variants.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Norm;
using model::NormPlaces;
using model::Positions;
using model::QkNorm;
using model::Transformer;

// modeling_glm.py: attention_bias adds biases to q, k and v only
void read_glm(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.qkv_bias = node.boolean_or("attention_bias", true);
}

void read_glm4(const Node& node, Transformer& model) {
  read_glm(node, model);
  model.norm_places = NormPlaces::kBoth;
}

void refuse_prompts_of_chatglm(const Node& node) {
  for (const char* key : {"pre_seq_len", "quantization_bit"})
    if (node.has(key) && node.child(key).value() != 0)
      node.complain(key, "expected 0: prompts and weights of few bits are training.method of a scenario");
}

// ChatGLM-6B of March 2023: GPT's layer with rotary positions in two dimensions. Its residual is the output of the norm
// (modeling_chatglm.py, GLMBlock), which takes the kernels of the usual one. PretrainedConfig ties its head.
void read_first_chatglm(const Node& node, Transformer& model) {
  read_sizes(node, {"num_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("inner_hidden_size", kWidth);
  model.positions = Positions::kRotary;
  model.activation = Activation::kGelu;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  (void)node.boolean_or("position_encoding_2d", true);
  refuse_prompts_of_chatglm(node);
}

// ChatGLM 2 and 3, GLM-4-9b in its own code, which also states num_hidden_layers
void read_chatglm(const Node& node, Transformer& model) {
  if (node.has("inner_hidden_size")) return read_first_chatglm(node, model);
  if (node.has("num_layers")) (void)name_of_size(node, "num_layers", "num_hidden_layers");
  read_sizes(node, {"num_layers", "hidden_size", "num_attention_heads", "padded_vocab_size"}, model);
  model.ffn_hidden = node.whole("ffn_hidden_size", kWidth);
  if (node.boolean_or("multi_query_attention", false)) model.kv_heads = node.whole("multi_query_group_num", kWidth);
  if (const auto width = node.find_whole("kv_channels", kWidth)) model.head_dim = *width;
  model.positions = Positions::kRotary;
  model.activation = Activation::kSwiGlu;
  if (node.boolean_or("rmsnorm", true)) model.norm = Norm::kRmsNorm;
  model.linear_bias = node.boolean_or("add_bias_linear", false);
  model.qkv_bias = model.linear_bias || node.boolean_or("add_qkv_bias", false);
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
  require_switch(node, "post_layer_norm", true, "a decoder without a final norm is not supported");
  refuse_prompts_of_chatglm(node);
}

void read_seed_oss(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.qkv_bias = node.boolean_or("attention_bias", true);
  require_switch(node, "attention_out_bias", false, "biases of the attention's projection only are not supported");
  require_switch(node, "mlp_bias", false, "biases in the MLP only are not supported");
  model.hidden_dropout = node.number_or("residual_dropout", 0.1, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0.1, kFraction);
}

// The MLP of Nemotron in a layer of llama
void read_arcee(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kRmsNorm;
  read_plain_activation(node, "hidden_act", "relu2", model);
  read_llama_biases(node, false, model);
}

// One of four layers rotates nothing, which saves less than the time of one small kernel.
void read_smollm3(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  require_switch(node, "use_sliding_window", false, "windows in layers without positions are not supported");
}

// bias holds for the projection of attention and the MLP.
void read_internlm3(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.linear_bias = node.boolean_or("bias", false);
  model.qkv_bias = node.boolean_or("qkv_bias", false);
}

// EXAONE 3.0 and 3.5
void read_exaone(const Node& node, Transformer& model) {
  const char* const layers = name_of_size(node, "num_layers", "num_hidden_layers");
  read_sizes(node, {layers, "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("intermediate_size", kWidth);
  model.kv_heads = node.whole_or("num_key_value_heads", model.heads, kWidth);
  if (const auto width = node.find_whole("head_dim", kWidth)) model.head_dim = *width;
  (void)node.find_whole("max_position_embeddings", kPositionsRange);
  model.positions = Positions::kRotary;
  model.norm = Norm::kRmsNorm;
  model.activation = gated_activation(node, "activation_function");
  model.linear_bias = model.qkv_bias = false;
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  (void)node.number_or("embed_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
}

// Qwen of 2023. Gate and up have half of intermediate_size each.
void read_qwen(const Node& node, Transformer& model) {
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("intermediate_size", {.low = 2, .high = 2 * kWidth.high}) / 2;
  if (const auto width = node.find_whole("kv_channels", kWidth)) model.head_dim = *width;
  (void)node.find_whole("max_position_embeddings", kPositionsRange);
  model.positions = Positions::kRotary;
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kSwiGlu;
  model.linear_bias = false;
  model.qkv_bias = true;
  require_switch(node, "no_bias", true, "biases of the attention's projection and the MLP are not supported");
  model.attention_dropout = node.number_or("attn_dropout_prob", 0, kFraction);
  (void)node.number_or("emb_dropout_prob", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
}

// The code of 7B has max_position_embeddings and rotates. That of 13B has model_max_length alone, and ALiBi.
void read_baichuan(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  if (!node.has("max_position_embeddings")) model.positions = Positions::kAlibi;
}

void read_stablelm(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  model.activation = gated_activation(node, "hidden_act");
  model.qkv_bias = node.boolean_or("use_qkv_bias", false);
  model.parallel_residual = model.shared_norm = node.boolean_or("use_parallel_residual", false);
  require_switch(node, "qk_layernorm", false, "layer norms of queries and keys are not supported");
}

// Attention and the MLP read one norm without a bias. Three of four layers see a window and rotate; the others do not.
void read_cohere2(const Node& node, Transformer& model) {
  constexpr std::int64_t kEvery = 4;
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  model.norm_bias = false;
  model.activation = gated_activation(node, "hidden_act");
  model.parallel_residual = model.shared_norm = true;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  require_switch(node, "attention_bias", false, "biases in attention only are not supported");
  for (const char* key : {"use_embedding_sharing", "use_gated_activation", "use_parallel_block"})
    require_switch(node, key, true, "no published Command R is without");
  for (const char* key : {"sliding_window_pattern", "layer_switch"})
    if (node.has(key) && node.child(key).value() != kEvery)
      node.complain(key, "expected 4: other patterns of windows are not supported");
  read_local_layers(node, kEvery, model);
}

void read_olmo3(const Node& node, Transformer& model) {
  constexpr std::int64_t kEvery = 4;
  read_llama(node, model);
  model.norm_places = NormPlaces::kBehind;
  model.qk_norm = QkNorm::kAllHeads;
  read_local_layers(node, kEvery, model);
}

using KeyList = std::vector<std::string_view>;

// The last ones change how a kernel is called.
const KeyList& chatglm_keys() {
  static const KeyList kKeys = {"num_layers",
                                "num_hidden_layers",
                                "hidden_size",
                                "num_attention_heads",
                                "padded_vocab_size",
                                "ffn_hidden_size",
                                "multi_query_attention",
                                "multi_query_group_num",
                                "kv_channels",
                                "rmsnorm",
                                "add_bias_linear",
                                "add_qkv_bias",
                                "hidden_dropout",
                                "attention_dropout",
                                "tie_word_embeddings",
                                "post_layer_norm",
                                "pre_seq_len",
                                "quantization_bit",
                                "vocab_size",
                                "inner_hidden_size",
                                "position_encoding_2d",
                                "prefix_projection",
                                "layernorm_epsilon",
                                "rope_ratio",
                                "original_rope",
                                "interleaved_qkv",
                                "fp32_residual_connection",
                                "apply_query_key_layer_scaling"};
  return kKeys;
}

const KeyList& qwen_keys() {
  static const KeyList kKeys = {"num_hidden_layers",
                                "hidden_size",
                                "num_attention_heads",
                                "vocab_size",
                                "intermediate_size",
                                "kv_channels",
                                "max_position_embeddings",
                                "no_bias",
                                "attn_dropout_prob",
                                "emb_dropout_prob",
                                "tie_word_embeddings",
                                "bf16",
                                "fp16",
                                "fp32",
                                "onnx_safe",
                                "softmax_in_fp32",
                                "use_cache_kernel",
                                "use_cache_quantization",
                                "use_dynamic_ntk",
                                "use_flash_attn",
                                "use_logn_attn"};
  return kKeys;
}

}  // namespace

// Multipliers of residuals and logits run inside other kernels.
void read_minicpm(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  model.scaled_embedding = node.number_or("scale_emb", 1) != 1;
  for (const char* key : {"scale_depth", "dim_model_base"}) (void)node.number_or(key, 1);
}

void read_ernie(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  model.linear_bias = model.qkv_bias = node.boolean_or("use_bias", false);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

std::span<const ModelFamily> llama_variants() {
  static const KeyList kSeed = with_llama_keys({"attention_out_bias", "residual_dropout"}),
                       kSmol = with_llama_keys({"no_rope_layers", "no_rope_layer_interval"}),
                       kErnie = with_llama_keys({"use_bias"}), kInternlm3 = with_llama_keys({"bias", "qkv_bias"}),
                       kMinicpm = with_llama_keys({"scale_emb", "scale_depth", "dim_model_base"}),
                       kExaone = with_llama_keys({"num_layers", "activation_function", "embed_dropout"}),
                       kBaichuan = with_llama_keys({"model_max_length", "z_loss_weight"}),
                       kStable = with_llama_keys({"use_qkv_bias", "use_parallel_residual", "qk_layernorm", "rope_pct"}),
                       kCohere2 = with_llama_keys({"layer_types", "sliding_window", "layer_switch",
                                                   "order_of_interleaved_layers", "position_embedding_type",
                                                   "use_embedding_sharing", "use_gated_activation",
                                                   "use_parallel_block", "use_parallel_embedding"}),
                       kOlmo3 = with_llama_keys({"layer_types", "sliding_window"});
  static const ModelFamily kVariants[] = {{"glm", kLlamaKeys, read_glm},
                                          {"glm4", kLlamaKeys, read_glm4},
                                          {"chatglm", chatglm_keys(), read_chatglm},
                                          {"seed_oss", kSeed, read_seed_oss},
                                          {"arcee", kLlamaKeys, read_arcee},
                                          {"smollm3", kSmol, read_smollm3},
                                          {"helium", kLlamaKeys, read_llama},
                                          {"ernie4_5", kErnie, read_ernie},
                                          {"internlm3", kInternlm3, read_internlm3},
                                          {"minicpm", kMinicpm, read_minicpm},
                                          {"exaone", kExaone, read_exaone},
                                          {"qwen", qwen_keys(), read_qwen},
                                          {"baichuan", kBaichuan, read_baichuan},
                                          {"stablelm", kStable, read_stablelm},
                                          {"cohere2", kCohere2, read_cohere2},
                                          {"olmo3", kOlmo3, read_olmo3}};
  return kVariants;
}

}  // namespace foretoken::io

// Reads the configs of each family of models, because Hugging Face names fields differently from model to model.
//
// Names and defaults come from transformers, src/transformers/models/*/configuration_*.py. Only fields that configs
// leave out in practice have defaults (null n_inner, absent dropouts). Sizes are always required.
#include "sim/io/model/model_families.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "sim/io/model/encoder_decoder_families.h"
#include "sim/io/model/encoder_families.h"
#include "sim/io/model/expert_families.h"
#include "sim/io/model/family_parts.h"
#include "sim/io/model/llama_variants.h"
#include "sim/io/model/model_keys.h"
#include "sim/io/model/newer_families.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Norm;
using model::Positions;
using model::Transformer;

void read_gpt2(const Node& node, Transformer& model) {
  read_gpt2_parts(node, "gelu_new", model);
  model.kv_heads = node.whole_or("num_key_value_heads", model.heads, kWidth);  // Megatron-LM's --num-query-groups
}

void read_gpt_neox(const Node& node, Transformer& model) {
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("intermediate_size", kWidth);
  (void)node.find_whole("max_position_embeddings", kPositionsRange);
  model.positions = Positions::kRotary;
  read_plain_activation(node, "hidden_act", "gelu", model);
  model.parallel_residual = node.boolean_or("use_parallel_residual", true);
  model.hidden_dropout =
      node.number_or(node.has("hidden_dropout_prob") ? "hidden_dropout_prob" : "hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or(
      node.has("attention_probs_dropout_prob") ? "attention_probs_dropout_prob" : "attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
  // modeling_gpt_neox.py, GPTNeoXAttention: attention_bias holds for q, k, v and the projection
  model.qkv_bias = node.boolean_or("attention_bias", true);
  set_linear_biases(model.qkv_bias, true, model);
}

void read_opt(const Node& node, Transformer& model) {
  constexpr std::int64_t kUnusedRows = 2;  // OPTLearnedPositionalEmbedding keeps two rows that no token uses
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("ffn_dim", kWidth);
  model.max_positions = node.whole("max_position_embeddings", kPositionsRange) + kUnusedRows;
  read_plain_activation(node, "activation_function", "relu", model);
  model.hidden_dropout = node.number_or("dropout", 0.1, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  (void)node.number_or("activation_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  require_switch(node, "do_layer_norm_before", true, "layer norm behind the block (OPT-350m) is not supported");
  require_switch(node, "_remove_final_layer_norm", false, "a decoder without a final norm is not supported");
  require_switch(node, "layer_norm_elementwise_affine", true, "norms without weights are not supported");
  model.linear_bias = model.qkv_bias = node.boolean_or("enable_bias", true);
  if (node.whole_or("word_embed_proj_dim", model.hidden, kWidth) != model.hidden)
    node.complain("word_embed_proj_dim",
                  fmt::format("expected {} (hidden_size), found {}: projected embeddings are not "
                              "supported",
                              model.hidden, node.child("word_embed_proj_dim").found()));
  if (node.number_or("layerdrop", 0, kFraction) != 0)
    node.complain("layerdrop", "expected 0: dropping layers at random is not supported");
}

void read_bloom(const Node& node, Transformer& model) {
  read_sizes(node,
             {name_of_size(node, "num_hidden_layers", "n_layer"), name_of_size(node, "n_embed", "hidden_size"),
              name_of_size(node, "n_head", "num_attention_heads"), "vocab_size"},
             model);
  model.ffn_hidden = node.whole_or("n_inner", 4 * model.hidden, kWidth);
  model.positions = Positions::kAlibi;
  model.embedding_norm = true;
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

void read_mpt_attention(const Node& attention, Transformer& model) {
  static constexpr std::string_view kKeys[] = {"alibi",          "alibi_bias_max",
                                               "attn_impl",      "attn_pdrop",
                                               "attn_type",      "attn_uses_sequence_id",
                                               "clip_qkv",       "prefix_lm",
                                               "qk_ln",          "rope",
                                               "rope_impl",      "rope_dail_config",
                                               "rope_hf_config", "softmax_scale",
                                               "kv_n_heads",     "sliding_window_size"};
  allow_model_keys(attention, kKeys);
  if (attention.boolean_or("alibi", false)) model.positions = Positions::kAlibi;
  if (attention.boolean_or("rope", false)) model.positions = Positions::kRotary;
  model.attention_dropout = attention.number_or("attn_pdrop", 0, kFraction);
  require_switch(attention, "qk_ln", false, "norms of queries and keys are not supported");
  require_switch(attention, "prefix_lm", false, "prefix attention is not supported");
  enum class Sharing { kNone, kAll, kGroups };
  const Sharing sharing = attention.one_of_or("attn_type", Sharing::kNone,
                                              {{"multihead_attention", Sharing::kNone},
                                               {"multiquery_attention", Sharing::kAll},
                                               {"grouped_query_attention", Sharing::kGroups}});
  if (sharing == Sharing::kAll) model.kv_heads = 1;
  if (sharing == Sharing::kGroups) model.kv_heads = attention.whole("kv_n_heads", kWidth);
  if (attention.find_whole("sliding_window_size", {.low = -1}).value_or(-1) != -1)
    attention.complain("sliding_window_size", "expected -1: sliding-window attention is not supported");
}

void read_mpt(const Node& node, Transformer& model) {
  read_sizes(node, {"n_layers", "d_model", "n_heads", "vocab_size"}, model);
  const double ffn = node.number_or("expansion_ratio", 4, {.low = 0, .high = 1024, .above_low = true}) *
                     static_cast<double>(model.hidden);
  if (std::trunc(ffn) != ffn || ffn > static_cast<double>(kWidth.high))
    node.complain("expansion_ratio",
                  fmt::format("times d_model {} is {}; expected a whole MLP width", model.hidden, ffn));
  model.ffn_hidden = static_cast<std::int64_t>(ffn);
  if (!node.boolean_or("learned_pos_emb", true)) model.positions = Positions::kNone;
  const std::int64_t positions = node.whole("max_seq_len", kPositionsRange);
  model.norm = node.one_of_or("norm_type", Norm::kLayerNorm,
                              {{"low_precision_layernorm", Norm::kLayerNorm},
                               {"layernorm", Norm::kLayerNorm},
                               {"low_precision_rmsnorm", Norm::kRmsNorm},
                               {"rmsnorm", Norm::kRmsNorm}});
  model.linear_bias = model.qkv_bias = model.norm_bias = !node.boolean_or("no_bias", false);
  model.hidden_dropout = node.number_or("resid_pdrop", 0, kFraction);
  (void)node.number_or("emb_pdrop", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  if (const auto ffn_config = node.find_object("ffn_config"))
    (void)ffn_config->one_of_or("ffn_type", true, {{"mptmlp", true}});
  if (const auto attention = node.find_object("attn_config")) read_mpt_attention(*attention, model);
  if (model.positions == Positions::kLearned) model.max_positions = positions;
}

// modeling_llama.py, LlamaAttention and LlamaMLP
void read_llama_of_meta(const Node& node, Transformer& model) {
  read_unbiased(node, model);
  read_llama_biases(node, false, model);
}

void read_qwen2(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.qkv_bias = true;  // modeling_qwen2.py: q, k and v have biases, o has none
}

void read_nemotron(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  read_plain_activation(node, "hidden_act", "relu2", model);
  read_llama_biases(node, false, model);
}

constexpr std::string_view kGpt2Keys[] = {"n_layer",
                                          "n_embd",
                                          "n_head",
                                          "n_positions",
                                          "n_inner",
                                          "vocab_size",
                                          "activation_function",
                                          "resid_pdrop",
                                          "embd_pdrop",
                                          "attn_pdrop",
                                          "tie_word_embeddings",
                                          "num_key_value_heads"};
constexpr std::string_view kGptNeoxKeys[] = {
    "num_hidden_layers",   "hidden_size",           "num_attention_heads",
    "vocab_size",          "intermediate_size",     "max_position_embeddings",
    "hidden_act",          "use_parallel_residual", "hidden_dropout",
    "hidden_dropout_prob", "attention_dropout",     "attention_probs_dropout_prob",
    "tie_word_embeddings", "attention_bias"};
constexpr std::string_view kOptKeys[] = {"num_hidden_layers",
                                         "hidden_size",
                                         "num_attention_heads",
                                         "vocab_size",
                                         "ffn_dim",
                                         "max_position_embeddings",
                                         "activation_function",
                                         "dropout",
                                         "attention_dropout",
                                         "activation_dropout",
                                         "tie_word_embeddings",
                                         "do_layer_norm_before",
                                         "_remove_final_layer_norm",
                                         "layer_norm_elementwise_affine",
                                         "enable_bias",
                                         "word_embed_proj_dim",
                                         "layerdrop"};
constexpr std::string_view kBloomKeys[] = {"n_layer",
                                           "num_hidden_layers",
                                           "n_embed",
                                           "hidden_size",
                                           "n_head",
                                           "num_attention_heads",
                                           "vocab_size",
                                           "n_inner",
                                           "hidden_dropout",
                                           "attention_dropout",
                                           "tie_word_embeddings"};
constexpr std::string_view kMptKeys[] = {
    "n_layers",  "d_model", "n_heads",     "vocab_size", "expansion_ratio",     "learned_pos_emb", "max_seq_len",
    "norm_type", "no_bias", "resid_pdrop", "emb_pdrop",  "tie_word_embeddings", "attn_config",     "ffn_config"};

constexpr ModelFamily kFamilies[] = {{"gpt", kGpt2Keys, read_gpt2},
                                     {"gpt2", kGpt2Keys, read_gpt2},
                                     {"gpt_neox", kGptNeoxKeys, read_gpt_neox},
                                     {"opt", kOptKeys, read_opt},
                                     {"bloom", kBloomKeys, read_bloom},
                                     {"mpt", kMptKeys, read_mpt},
                                     {"llama", kLlamaKeys, read_llama_of_meta},
                                     {"mistral", kLlamaKeys, read_llama},
                                     {"qwen2", kLlamaKeys, read_qwen2},
                                     {"nemotron", kLlamaKeys, read_nemotron}};

}  // namespace

std::span<const ModelFamily> model_families() {
  static const std::vector<ModelFamily> kAll = [] {
    std::vector<ModelFamily> all(std::begin(kFamilies), std::end(kFamilies));
    for (const auto& more : {newer_families(), llama_variants(), later_variants(), expert_families(), later_experts(),
                             latent_families(), encoder_families(), encoder_decoder_families(), megatron_families()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kAll;
}

}  // namespace foretoken::io

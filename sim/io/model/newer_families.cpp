// Reads qwen3, phi, phi3, exaone4, gemma, falcon, starcoder2, gptj, granite, olmo, internlm2, cohere and gpt_bigcode.
//
// Names and defaults come from transformers, src/transformers/models/*/configuration_*.py. The places of norms and
// biases come from the modeling_*.py beside them.
#include "sim/io/model/newer_families.h"

#include <iterator>
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

void read_qwen3(const Node& node, Transformer& model) {
  read_llama(node, model);
  if (!node.has("head_dim")) model.head_dim = 128;  // Qwen3Config
  model.qk_norm = QkNorm::kHead;
}

// One matrix holds q, k and v, and one holds gate and up. Their sizes are those of llama.
void read_phi3(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.hidden_dropout = node.number_or("resid_pdrop", 0, kFraction);
  (void)node.number_or("embd_pdrop", 0, kFraction);
}

void read_gemma(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  if (!node.has("head_dim")) model.head_dim = 256;  // GemmaConfig, Gemma2Config, Gemma3TextConfig
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kGeGlu;
  for (const char* key : {"hidden_activation", "hidden_act"})
    if (node.has(key)) (void)gated_activation(node, key);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  model.qkv_bias = node.boolean_or("attention_bias", false);
  require_switch(node, "attention_bias", false, "no published Gemma has biases");
  model.scaled_embedding = true;
}

void read_gemma2(const Node& node, Transformer& model) {
  read_gemma(node, model);
  model.norm_places = NormPlaces::kBoth;
}

void read_gemma3(const Node& node, Transformer& model) {
  constexpr std::int64_t kEvery = 6;  // Gemma3TextConfig, sliding_window_pattern
  read_gemma2(node, model);
  model.qk_norm = QkNorm::kHead;
  if (!node.has("sliding_window")) return;
  for (const char* pattern : {"sliding_window_pattern", "_sliding_window_pattern"})
    if (node.has(pattern) && node.child(pattern).value() != kEvery)
      node.complain(pattern, "expected 6: other patterns of windows are not supported");
  read_local_layers(node, kEvery, model);
}

void read_falcon(const Node& node, Transformer& model) {
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  const bool newer = node.boolean_or("new_decoder_architecture", false);
  const bool one_head = node.boolean_or("multi_query", true);
  if (newer) model.kv_heads = node.whole_or("num_kv_heads", model.heads, kWidth);
  if (!newer && one_head) model.kv_heads = 1;
  model.ffn_hidden = node.whole_or("ffn_hidden_size", 4 * model.hidden, kWidth);
  read_plain_activation(node, "activation", "gelu", model);
  model.positions = node.boolean_or("alibi", false) ? Positions::kAlibi : Positions::kRotary;
  model.linear_bias = model.qkv_bias = node.boolean_or("bias", false);
  model.parallel_residual = newer || node.boolean_or("parallel_attn", true);
  const std::int64_t norms = node.whole_or("num_ln_in_parallel_attn", newer ? 2 : 1, {.low = 1, .high = 2});
  model.shared_norm = model.parallel_residual && norms == 1;
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

// Falcon's own code of 2023, with the names of falcon-7b and falcon-40b: configuration_RW.py beside those models.
void read_refined_web(const Node& node, Transformer& model) {
  read_sizes(node, {"n_layer", "hidden_size", "n_head", "vocab_size"}, model);
  const bool grouped = node.has("n_head_kv");
  model.kv_heads = node.boolean_or("multi_query", false) ? 1 : node.whole_or("n_head_kv", model.heads, kWidth);
  model.ffn_hidden = 4 * model.hidden;
  read_plain_activation(node, "activation", "gelu", model);
  model.positions = node.boolean_or("alibi", false) ? Positions::kAlibi : Positions::kRotary;
  model.linear_bias = model.qkv_bias = node.boolean_or("bias", false);
  model.parallel_residual = grouped || node.boolean_or("parallel_attn", false);
  model.shared_norm = model.parallel_residual && !grouped;
  model.hidden_dropout = node.number_or("hidden_dropout", 0, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

// One matrix holds q, k and v. Its sizes are those of llama.
void read_internlm2(const Node& node, Transformer& model) {
  read_llama(node, model);
  require_switch(node, "bias", false, "biases of InternLM2 are not supported");
}

// Attention and the MLP read one norm without a bias.
void read_cohere(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = Norm::kLayerNorm;
  model.norm_bias = false;
  model.activation = gated_activation(node, "hidden_act");
  model.parallel_residual = model.shared_norm = true;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  require_switch(node, "use_qk_norm", false, "norms of queries and keys with weights for each head are not supported");
  require_switch(node, "attention_bias", false, "biases in attention only are not supported");
}

// GPT-2 whose queries share one key and one value.
void read_gpt_bigcode(const Node& node, Transformer& model) {
  read_gpt2_parts(node, "gelu", model);
  if (node.boolean_or("multi_query", true)) model.kv_heads = 1;
}

void read_starcoder2(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  model.norm = node.one_of_or("norm_type", Norm::kLayerNorm, {{"layer_norm", Norm::kLayerNorm}});
  (void)node.one_of_or("mlp_type", true, {{"default", true}});
  read_plain_activation(node, "hidden_act", "gelu", model);
  model.linear_bias = model.qkv_bias = node.boolean_or("use_bias", true);
  model.hidden_dropout = node.number_or("residual_dropout", 0, kFraction);
  (void)node.number_or("embedding_dropout", 0, kFraction);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
}

void read_gptj(const Node& node, Transformer& model) {
  read_sizes(node, {"n_layer", "n_embd", "n_head", "vocab_size"}, model);
  model.ffn_hidden = node.whole_or("n_inner", 4 * model.hidden, kWidth);
  (void)node.find_whole("n_positions", kPositionsRange);
  model.positions = Positions::kRotary;
  read_plain_activation(node, "activation_function", "gelu_new", model);
  model.parallel_residual = model.shared_norm = true;
  model.qkv_bias = model.projection_bias = false;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", false);
  model.head_bias = !model.tied_embeddings;
  model.hidden_dropout = node.number_or("resid_pdrop", 0, kFraction);
  (void)node.number_or("embd_pdrop", 0, kFraction);
  model.attention_dropout = node.number_or("attn_pdrop", 0, kFraction);
}

// Phi-1, 1.5 and 2. Attention and the MLP read one norm, and all products have biases.
void read_phi(const Node& node, Transformer& model) {
  read_llama_sizes(node, model);
  read_plain_activation(node, "hidden_act", "gelu_new", model);
  model.parallel_residual = model.shared_norm = true;
  model.linear_bias = model.qkv_bias = true;
  model.head_bias = !model.tied_embeddings;
  model.hidden_dropout = node.number_or("resid_pdrop", 0, kFraction);
  (void)node.number_or("embd_pdrop", 0, kFraction);
  require_switch(node, "qk_layernorm", false, "layer norms of queries and keys are not supported");
}

// Phi-1.5 and Phi-2 of 2023 under GPT-2's names (mlc-ai/mlc-llm@24ab415, python/mlc_llm/model/phi/phi_model.py,
// PhiConfig): the model is Phi's. The head has a bias of its own.
void read_phi_msft(const Node& node, Transformer& model) {
  read_gptj(node, model);
  model.kv_heads = node.whole_or("n_head_kv", model.heads, kWidth);
  model.linear_bias = model.qkv_bias = model.projection_bias = true;
  require_switch(node, "tie_word_embeddings", false, "no published Phi has tied embeddings");
}

// Three of four layers see a window, where the config has one. The others rotate nothing, which saves less than the
// time of one small kernel.
void read_exaone4(const Node& node, Transformer& model) {
  constexpr const char* kPattern = "sliding_window_pattern";
  constexpr std::int64_t kEvery = 4;
  read_llama(node, model);
  model.norm_places = NormPlaces::kBehind;
  model.qk_norm = QkNorm::kHead;
  if (!node.has("sliding_window")) return;
  const auto pattern = node.child(kPattern).value();
  if (!pattern.is_null() && pattern != "LLLG" && pattern != kEvery)
    node.complain(kPattern, "expected \"LLLG\" or 4: other patterns of windows are not supported");
  read_local_layers(node, kEvery, model);
}

void read_olmo(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.norm = Norm::kLayerNorm;
  model.norm_scale = model.norm_bias = false;
  (void)node.find_number("clip_qkv");
}

void read_olmo2(const Node& node, Transformer& model) {
  read_llama(node, model);
  model.norm_places = NormPlaces::kBehind;
  model.qk_norm = QkNorm::kAllHeads;
}

constexpr std::string_view kFalconKeys[] = {"num_hidden_layers",
                                            "hidden_size",
                                            "num_attention_heads",
                                            "vocab_size",
                                            "multi_query",
                                            "num_kv_heads",
                                            "ffn_hidden_size",
                                            "new_decoder_architecture",
                                            "activation",
                                            "alibi",
                                            "bias",
                                            "parallel_attn",
                                            "hidden_dropout",
                                            "attention_dropout",
                                            "tie_word_embeddings",
                                            "num_ln_in_parallel_attn"};
constexpr std::string_view kGptjKeys[] = {
    "n_layer",     "n_embd",     "n_head",     "vocab_size",         "n_inner", "n_positions", "activation_function",
    "resid_pdrop", "embd_pdrop", "attn_pdrop", "tie_word_embeddings"};
constexpr std::string_view kRefinedWebKeys[] = {"n_layer",
                                                "hidden_size",
                                                "n_head",
                                                "vocab_size",
                                                "multi_query",
                                                "n_head_kv",
                                                "activation",
                                                "alibi",
                                                "bias",
                                                "parallel_attn",
                                                "hidden_dropout",
                                                "attention_dropout",
                                                "tie_word_embeddings"};
// The last ones change how a kernel or a cache is called.
constexpr std::string_view kBigcodeKeys[] = {"n_layer",
                                             "n_embd",
                                             "n_head",
                                             "vocab_size",
                                             "n_inner",
                                             "n_positions",
                                             "activation_function",
                                             "resid_pdrop",
                                             "embd_pdrop",
                                             "attn_pdrop",
                                             "tie_word_embeddings",
                                             "multi_query",
                                             "scale_attention_softmax_in_fp32",
                                             "runner_max_sequence_length",
                                             "inference_runner",
                                             "validate_runner_input",
                                             "pre_allocate_kv_cache",
                                             "max_batch_size",
                                             "pad_key_length"};

// The last three choose kernels.
std::vector<std::string_view> phi_msft_keys() {
  std::vector<std::string_view> keys(std::begin(kGptjKeys), std::end(kGptjKeys));
  for (const std::string_view key : {"n_head_kv", "flash_attn", "flash_rotary", "fused_dense"}) keys.push_back(key);
  return keys;
}

}  // namespace

std::span<const ModelFamily> newer_families() {
  static const std::vector<std::string_view>
      kPhi3 = with_llama_keys({"resid_pdrop", "embd_pdrop"}),
      kGemma = with_llama_keys({"hidden_activation", "sliding_window_size"}),
      kGemma3 = with_llama_keys({"hidden_activation", "sliding_window_size", "sliding_window", "layer_types"}),
      kStarcoder2 = with_llama_keys({"use_bias", "residual_dropout", "embedding_dropout", "norm_type", "mlp_type"}),
      kGranite = granite_keys(), kOlmo = with_llama_keys({"clip_qkv"}), kInternlm2 = with_llama_keys({"bias"}),
      kCohere = with_llama_keys({"use_qk_norm"}), kPhi = with_llama_keys({"resid_pdrop", "embd_pdrop", "qk_layernorm"}),
      kPhiMsft = phi_msft_keys(), kExaone4 = with_llama_keys({"layer_types", "sliding_window"});
  static const ModelFamily kFamiliesSince2021[] = {
      {"qwen3", kLlamaKeys, read_qwen3},
      {"phi3", kPhi3, read_phi3},
      {"phi", kPhi, read_phi},
      {"phi-msft", kPhiMsft, read_phi_msft},
      {"exaone4", kExaone4, read_exaone4},
      {"gemma", kGemma, read_gemma},
      {"gemma2", kGemma, read_gemma2},
      {"vaultgemma", kGemma, read_gemma},  // modular_vaultgemma.py: Gemma 2 without norms behind
      {"gemma3_text", kGemma3, read_gemma3},
      {"falcon", kFalconKeys, read_falcon},
      {"starcoder2", kStarcoder2, read_starcoder2},
      {"gptj", kGptjKeys, read_gptj},
      {"codegen", kGptjKeys, read_gptj},  // modeling_codegen.py: one product for q, k and v, of their sizes
      {"granite", kGranite, read_granite},
      {"olmo", kOlmo, read_olmo},
      {"olmo2", kLlamaKeys, read_olmo2},
      {"internlm2", kInternlm2, read_internlm2},
      {"cohere", kCohere, read_cohere},
      {"gpt_bigcode", kBigcodeKeys, read_gpt_bigcode},
      {"RefinedWebModel", kRefinedWebKeys, read_refined_web},
      {"RefinedWeb", kRefinedWebKeys, read_refined_web}};
  return kFamiliesSince2021;
}

}  // namespace foretoken::io

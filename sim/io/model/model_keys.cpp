// Lists the keys of a config.json that may be ignored, and keys that must be refused.
//
// Sources: transformers, src/transformers/configuration_utils.py (PretrainedConfig and its generation settings) and
// models/{gpt2,gpt_neox,opt,bloom,mpt,llama,mistral,qwen2,qwen3,nemotron,phi3,gemma3,...}/configuration_*.py. Settings
// of the run among them: aws-neuron/neuronx-distributed, examples/training/*/config.json; FlagAI-Open/FlagAI,
// flagai/model/gpt2_model.py (initial weights of the output products).
#include "sim/io/model/model_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "sim/base/text.h"
#include "sim/io/model/other_keys.h"

namespace foretoken::io {
namespace {

/// Keys without effect on the shapes of a training step: names, files, token ids, numerics, settings of generation.
constexpr std::string_view kIgnored[] = {"name",
                                         "source",
                                         "notes",
                                         "model_type",
                                         "architectures",
                                         "auto_map",
                                         "transformers_version",
                                         "torch_dtype",
                                         "dtype",
                                         "use_cache",
                                         "initializer_range",
                                         "init_std",
                                         "init_config",
                                         "init_device",
                                         "verbose",
                                         "tokenizer_class",
                                         "tokenizer_name",
                                         "tokenizer_config",
                                         "prefix",
                                         "task_specific_params",
                                         "id2label",
                                         "label2id",
                                         "num_labels",
                                         "return_dict",
                                         "return_dict_in_generate",
                                         "output_attentions",
                                         "output_hidden_states",
                                         "output_scores",
                                         "gradient_checkpointing",
                                         "finetuning_task",
                                         "problem_type",
                                         "pruned_heads",
                                         "chunk_size_feed_forward",
                                         "attn_implementation",
                                         "use_bfloat16",
                                         "tf_legacy_loss",
                                         "torchscript",
                                         "is_decoder",
                                         "tie_encoder_decoder",
                                         "cross_attention_hidden_size",
                                         "classifier_dropout",
                                         "max_length",
                                         "min_length",
                                         "do_sample",
                                         "early_stopping",
                                         "num_beams",
                                         "num_beam_groups",
                                         "diversity_penalty",
                                         "temperature",
                                         "top_k",
                                         "top_p",
                                         "typical_p",
                                         "repetition_penalty",
                                         "length_penalty",
                                         "no_repeat_ngram_size",
                                         "encoder_no_repeat_ngram_size",
                                         "bad_words_ids",
                                         "num_return_sequences",
                                         "remove_invalid_values",
                                         "exponential_decay_length_penalty",
                                         "suppress_tokens",
                                         "begin_suppress_tokens",
                                         "layer_norm_epsilon",
                                         "layer_norm_eps",
                                         "rms_norm_eps",
                                         "norm_eps",
                                         "rope_theta",
                                         "rope_scaling",
                                         "rope_parameters",
                                         "rotary_pct",
                                         "rotary_emb_base",
                                         "partial_rotary_factor",
                                         "rope_percent",
                                         "pretraining_tp",
                                         "n_ctx",
                                         "seq_length",
                                         "offset_alibi",
                                         "slow_but_exact",
                                         "attention_softmax_in_fp32",
                                         "scale_attention_softmax_in_fp32",
                                         "model_max_length",
                                         "masked_softmax_fusion",
                                         "bias_dropout_fusion",
                                         "skip_bias_add",
                                         "skip_bias_add_qkv",
                                         "apply_residual_connection_post_layernorm",
                                         "reorder_and_upcast_attn",
                                         "scale_attn_by_inverse_layer_idx",
                                         "scale_attn_weights",
                                         "logit_scale",
                                         "embedding_fraction",
                                         "max_window_layers",
                                         "max_sequence_length",
                                         "quantization_config",
                                         "use_mrope",
                                         "cache_implementation",
                                         "attn_logit_softcapping",
                                         "final_logit_softcapping",
                                         "query_pre_attn_scalar",
                                         "rope_local_base_freq",
                                         "sliding_window_pattern",
                                         "original_max_position_embeddings",
                                         "norm_epsilon",
                                         "rotary",
                                         "rotary_dim",
                                         "rope_interleaved",
                                         "is_llama_config",
                                         "move_model_to_device",
                                         "selective_checkpoint_enabled",
                                         "sequence_parallel_enabled",
                                         "use_flash_attention",
                                         "use_flash_attn",
                                         "use_scaled_init_for_output_weights",
                                         "use_bidirectional_attention"};

/// A key of an architecture that we do not model. The values null, false, 0 and empty are harmless.
struct Refused {
  std::string_view key, what;
};
constexpr std::string_view kExperts = "models of this model_type have no experts; check model_type";
constexpr std::string_view kLatent = "models of this model_type have no latent attention; check model_type";
constexpr std::string_view kSparse = "sparse or chunked attention is not supported yet";
constexpr std::string_view kExtraHeads =
    "multi-token prediction is not supported for this model_type; set it to 0 to leave it out";
constexpr std::string_view kNested = "the text model of a multimodal one stands once, not inside another";
constexpr std::string_view kImages =
    "a multimodal model whose text model has no text_config; remove this section to read the text model alone";
constexpr std::string_view kEncoder = "models of this model_type have no cross-attention; check model_type";
constexpr std::string_view kStateSpace = "state-space layers are not supported";
constexpr Refused kRefused[] = {{"num_local_experts", kExperts},
                                {"num_experts", kExperts},
                                {"n_routed_experts", kExperts},
                                {"n_shared_experts", kExperts},
                                {"num_experts_per_tok", kExperts},
                                {"moe_intermediate_size", kExperts},
                                {"moe_layer_freq", kExperts},
                                {"first_k_dense_replace", kExperts},
                                {"decoder_sparse_step", kExperts},
                                {"moe_num_experts", kExperts},
                                {"q_lora_rank", kLatent},
                                {"kv_lora_rank", kLatent},
                                {"qk_rope_head_dim", kLatent},
                                {"qk_nope_head_dim", kLatent},
                                {"v_head_dim", kLatent},
                                {"attention_chunk_size", kSparse},
                                {"index_topk", kSparse},
                                {"index_n_heads", kSparse},
                                {"compress_ratios", kSparse},
                                {"hc_mult", kSparse},
                                {"num_nextn_predict_layers", kExtraHeads},
                                {"mtp_num_layers", kExtraHeads},
                                {"mtp_num_hidden_layers", kExtraHeads},
                                {"text_config", kNested},
                                {"vision_config", kImages},
                                {"is_encoder_decoder", kEncoder},
                                {"add_cross_attention", kEncoder},
                                {"encoder_layers", kEncoder},
                                {"state_size", kStateSpace},
                                {"ssm_state_size", kStateSpace},
                                {"mamba_d_state", kStateSpace},
                                {"hybrid_override_pattern", kStateSpace}};

// A copy of a model's code with experts, and a config that has none of them: their other keys say nothing.
bool states_no_experts(const Node& node) {
  constexpr const char* kCounts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
  const auto stated = [&](const char* key) { return node.has(key); };
  return std::ranges::any_of(kCounts, stated) &&
         std::ranges::all_of(kCounts, [&](const char* key) { return !stated(key) || node.child(key).value() == 0; });
}

bool is_window_stated(const Node& node) { return node.has("sliding_window") || node.has("sliding_window_size"); }

void refuse_hybrid_layers(const Node& node) {
  const auto layer_types = node.find_array("layer_types");
  if (!layer_types) return;
  for (const Node& type : *layer_types) {
    if (type.as_text() == "full_attention") continue;
    if (type.as_text() == "sliding_attention" && is_window_stated(node)) continue;
    type.complain("expected \"full_attention\": layers of different kinds are not supported");
    return;
  }
}

// A list of another length belongs to another model.
void check_length_of_types(const Node& node) {
  const auto types = node.find_array("layer_types");
  const nlohmann::json layers = node.child("num_hidden_layers").value();
  if (!types || types->empty() || !layers.is_number_integer()) return;
  if (layers.get<std::int64_t>() == static_cast<std::int64_t>(types->size())) return;
  node.complain("layer_types", fmt::format("expected {} entries, one for each of num_hidden_layers, found {}",
                                           layers.get<std::int64_t>(), types->size()));
}

}  // namespace

void allow_model_keys(const Node& node, std::span<const std::string_view> read_keys) {
  const std::vector<std::string> read(read_keys.begin(), read_keys.end());
  std::vector<std::string> known = read;
  known.insert(known.end(), std::begin(kIgnored), std::end(kIgnored));
  for (const Refused& refused : kRefused) known.emplace_back(refused.key);
  for (const char* key : {"sliding_window", "use_sliding_window", "layer_types"}) known.emplace_back(key);
  for (const std::string& key : node.keys()) {
    const bool by_rule = key.starts_with('_') || key.starts_with("summary_") || key.ends_with("_token_id") ||
                         key.ends_with("_token_ids") || is_beside_the_shape(key);
    if (by_rule) known.push_back(key);
  }
  std::vector<std::string> left_out;
  for (const std::string& key : node.keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const nlohmann::json& value = node.child(key).value();
    if (key == "moe_frequency" && value == 1) continue;                    // neuronx-distributed: in every layer
    if (key == "activation_function" && node.has("hidden_act")) continue;  // of StarCoder2's forerunner
    const std::string meant = did_you_mean(key, read);
    if (value.is_null() || (meant.empty() && changes_no_shape(key, value)))
      left_out.push_back(printable(key, 40));
    else
      node.complain(
          key,
          "unknown key" + (meant.empty() ? std::string("; remove it if it does not change the model's shape") : meant));
  }
  if (!left_out.empty())
    node.findings().notes.assumptions.push_back(
        fmt::format("unknown keys of the model that change no shape are left out: {}", fmt::join(left_out, ", ")));
}

std::int64_t attention_window(const Node& node) {
  // Older configs of Gemma 2 call it sliding_window_size; later ones state both.
  const bool older = node.has("sliding_window_size") && node.child("model_type").value() == "gemma2";
  const auto named = older ? node.find_whole("sliding_window_size", {.low = 1}) : std::nullopt;
  const std::optional<std::int64_t> stated = node.find_whole("sliding_window", {.low = 1});
  if (named && stated && *named != *stated)
    node.complain("sliding_window_size", fmt::format("expected {} as sliding_window, found {}", *stated, *named));
  const std::optional<std::int64_t> window = stated ? stated : named;
  const bool switchable = node.has("use_sliding_window") || node.child("model_type").value() == "qwen2" ||
                          node.child("model_type").value() == "qwen3" ||
                          node.child("model_type").value() == "qwen2_moe" ||
                          node.child("model_type").value() == "qwen3_moe";
  if (!window || (switchable && !node.boolean_or("use_sliding_window", false))) return 0;
  return *window;
}

void refuse_what_is_not_modelled(const Node& node, std::span<const std::string_view> read_keys) {
  const auto is_read = [&](std::string_view key) {
    return std::find(read_keys.begin(), read_keys.end(), key) != read_keys.end();
  };
  const bool dense = states_no_experts(node);
  for (const Refused& refused : kRefused) {
    const Node member = node.child(refused.key);
    if (dense && refused.what == kExperts) continue;
    if (!is_read(refused.key) && !is_off(member.value())) member.complain(refused.what);
  }
  if (!is_read("layer_types")) refuse_hybrid_layers(node);
  check_length_of_types(node);
}

}  // namespace foretoken::io

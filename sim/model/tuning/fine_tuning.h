// The weights that a fine-tuning trains: all of them, or small ones beside frozen ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::model {

enum class TuningMethod : std::uint8_t {
  kFull,          ///< every weight
  kLora,          ///< two narrow matrices beside a product (arXiv:2106.09685)
  kQlora,         ///< the same beside weights of 4 bit (arXiv:2305.14314)
  kInt8Lora,      ///< the same beside weights of 8 bit, LLM.int8() (arXiv:2208.07339)
  kPTuning,       ///< virtual tokens that a small network makes (arXiv:2103.10385)
  kPromptTuning,  ///< virtual tokens alone (arXiv:2104.08691)
  kAdapter        ///< two narrow layers behind attention and MLP (arXiv:1902.00751)
};

/// The products that LoRA stands beside. Hugging Face has one matrix for each of q, k, v, gate and up; Megatron-LM has
/// one for q, k and v, and one for gate and up. A target of several matrices has an adapter for each of them. Latent
/// attention has matrices down to narrow vectors and up from them. `experts` is true where products of an MLP stand for
/// those of each routed expert, too.
struct LoraTargets {
  bool queries = false, keys = false, values = false, fused_qkv = false, projection = false;
  bool query_down = false, query_up = false, key_value_down = false, key_value_up = false;
  bool gate = false, up = false, fused_fc1 = false, fc2 = false, experts = false;

  [[nodiscard]] bool of_latent() const { return query_down || query_up || key_value_down || key_value_up; }
  [[nodiscard]] bool of_attention() const {
    return queries || keys || values || fused_qkv || projection || of_latent();
  }
  [[nodiscard]] bool of_mlp() const { return gate || up || fused_fc1 || fc2; }
  [[nodiscard]] bool any() const { return of_attention() || of_mlp(); }
  friend bool operator==(const LoraTargets&, const LoraTargets&) = default;
};

/// Returns the targets of both.
[[nodiscard]] constexpr LoraTargets operator|(const LoraTargets& a, const LoraTargets& b) {
  return {.queries = a.queries || b.queries,
          .keys = a.keys || b.keys,
          .values = a.values || b.values,
          .fused_qkv = a.fused_qkv || b.fused_qkv,
          .projection = a.projection || b.projection,
          .query_down = a.query_down || b.query_down,
          .query_up = a.query_up || b.query_up,
          .key_value_down = a.key_value_down || b.key_value_down,
          .key_value_up = a.key_value_up || b.key_value_up,
          .gate = a.gate || b.gate,
          .up = a.up || b.up,
          .fused_fc1 = a.fused_fc1 || b.fused_fc1,
          .fc2 = a.fc2 || b.fc2,
          .experts = a.experts || b.experts};
}

/// Every product of attention, latent or not.
inline constexpr LoraTargets kAttentionTargets{.queries = true,
                                               .keys = true,
                                               .values = true,
                                               .projection = true,
                                               .query_down = true,
                                               .query_up = true,
                                               .key_value_down = true,
                                               .key_value_up = true};

/// A target as scenarios spell it, in the names of Hugging Face and of Megatron-LM.
struct TargetName {
  std::string_view key;
  LoraTargets targets;
};
inline constexpr std::array<TargetName, 28> kTargetNames{{
    {"q_proj", {.queries = true}},
    {"k_proj", {.keys = true}},
    {"v_proj", {.values = true}},
    {"o_proj", {.projection = true}},
    {"q_a_proj", {.query_down = true}},
    {"q_b_proj", {.query_up = true}},
    {"kv_a_proj_with_mqa", {.key_value_down = true}},
    {"kv_b_proj", {.key_value_up = true}},
    {"gate_proj", {.gate = true}},
    {"up_proj", {.up = true}},
    {"down_proj", {.fc2 = true}},
    {"qkv_proj", {.fused_qkv = true}},
    {"c_attn", {.fused_qkv = true}},
    {"query_key_value", {.fused_qkv = true}},
    {"gate_up_proj", {.fused_fc1 = true}},
    {"linear_qkv", {.fused_qkv = true}},
    {"linear_q_down_proj", {.query_down = true}},
    {"linear_q_up_proj", {.query_up = true}},
    {"linear_kv_down_proj", {.key_value_down = true}},
    {"linear_kv_up_proj", {.key_value_up = true}},
    {"linear_proj", {.projection = true}},
    {"linear_fc1", {.fused_fc1 = true}},
    {"linear_fc2", {.fc2 = true}},
    {"output_proj", {.projection = true}},
    {"attention", kAttentionTargets},
    {"mlp", {.gate = true, .up = true, .fc2 = true}},
    {"experts", {.gate = true, .up = true, .fc2 = true, .experts = true}},
    {"all-linear", kAttentionTargets | LoraTargets{.gate = true, .up = true, .fc2 = true}},
}};

/// The kind of attention that has a product.
enum class HasProduct : std::uint8_t { kAny, kPlain, kLatent };

/// A target in words.
struct TargetWords {
  bool LoraTargets::*on;
  std::string_view words;
  HasProduct in = HasProduct::kAny;
};
inline constexpr std::array<TargetWords, 14> kTargetWords{
    {{&LoraTargets::queries, "queries"},
     {&LoraTargets::keys, "keys", HasProduct::kPlain},
     {&LoraTargets::values, "values", HasProduct::kPlain},
     {&LoraTargets::fused_qkv, "qkv", HasProduct::kPlain},
     {&LoraTargets::query_down, "query down", HasProduct::kLatent},
     {&LoraTargets::query_up, "query up", HasProduct::kLatent},
     {&LoraTargets::key_value_down, "key-value down", HasProduct::kLatent},
     {&LoraTargets::key_value_up, "key-value up", HasProduct::kLatent},
     {&LoraTargets::projection, "projection"},
     {&LoraTargets::gate, "gate"},
     {&LoraTargets::up, "up"},
     {&LoraTargets::fused_fc1, "fc1"},
     {&LoraTargets::fc2, "fc2"},
     {&LoraTargets::experts, "routed experts"}}};

/// The targets of a LoRA that states none: queries and values, as in arXiv:2106.09685 section 4.2 and in PEFT.
inline constexpr LoraTargets kDefaultTargets{.queries = true, .values = true};

/// Parts that train whole beside LoRA. A copy of each weight trains, and the weight itself stays, frozen: PEFT's
/// modules_to_save (huggingface/peft 012c0d5, src/peft/utils/other.py, ModulesToSaveWrapper).
struct WholeParts {
  bool embedding = false;  ///< the table of tokens
  bool head = false;       ///< the output projection, and its bias

  [[nodiscard]] bool any() const { return embedding || head; }
  friend bool operator==(const WholeParts&, const WholeParts&) = default;
};

/// A part as scenarios spell it.
struct WholeName {
  std::string_view key;
  bool WholeParts::*on;
};
inline constexpr std::array<WholeName, 2> kWholeNames{
    {{"embedding", &WholeParts::embedding}, {"head", &WholeParts::head}}};

/// Bytes of a weight in NF4 (arXiv:2305.14314 section 3): half a byte, a scale of 8 bit for every 64 weights, and an
/// fp32 scale for every 256 scales (double quantisation).
inline constexpr double kNf4Bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);

/// Bytes of a weight under LLM.int8() (arXiv:2208.07339): one, and an fp32 scale for each row, here of 4,096 inputs.
inline constexpr double kInt8Bytes = 1 + 4.0 / 4096;

/// The trained part of a model. Without a method of its own every weight trains.
struct FineTuning {
  TuningMethod method = TuningMethod::kFull;
  std::int64_t rank = 0;            ///< of LoRA's matrices, or the width of an adapter
  LoraTargets targets{};            ///< of LoRA
  WholeParts whole{};               ///< beside LoRA
  std::int64_t virtual_tokens = 0;  ///< at the start of every sequence, which counts them
  /// Width of the layer inside the prompt encoder: NeMo's encoder_hidden.
  std::int64_t encoder_hidden = 2048;

  /// Returns true when the model's own weights have no gradients.
  [[nodiscard]] bool freezes() const { return method != TuningMethod::kFull; }
  [[nodiscard]] bool is_lora() const { return method == TuningMethod::kLora || holds_narrow(); }
  /// Returns true when the weights of layers' products are stored in fewer bits than they are multiplied with.
  [[nodiscard]] bool holds_narrow() const {
    return method == TuningMethod::kQlora || method == TuningMethod::kInt8Lora;
  }
  /// Bytes of a weight that is stored so.
  [[nodiscard]] double narrow_bytes() const { return method == TuningMethod::kInt8Lora ? kInt8Bytes : kNf4Bytes; }
  [[nodiscard]] bool has_prompts() const {
    return method == TuningMethod::kPTuning || method == TuningMethod::kPromptTuning;
  }
};

/// Returns "lora" or "lora-int8", as scenarios spell it.
[[nodiscard]] std::string_view name_of(TuningMethod method);
/// Returns "embedding and head"; empty for no part.
[[nodiscard]] std::string name_of(const WholeParts& parts);

}  // namespace foretoken::model

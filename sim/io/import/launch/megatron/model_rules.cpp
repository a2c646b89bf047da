// Makes a model of Megatron-LM's flags.
//
// Defaults: NVIDIA/Megatron-LM core 0.12, megatron/training/arguments.py, validate_args() and _add_network_size_args().
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

/// A fork of 2023 (MinfanZhao/Megatron-LM_) rounds the width of SwiGLU up as Llama does.
constexpr const char *kLlamaSwiglu = "llama-swiglu", *kLlamaMultiple = "swiglu-multiple-of";

// Megatron-DeepSpeed has standard and residual experts, FlagScale a list of widths; a fork names the activation.
// Returns true where it does.
bool map_type_of_mlp(const Flags& flags) {
  constexpr const char* kType = "mlp-type";
  const Argument* const stated = flags.find(kType);
  const std::string type = lower_case(flags.text(kType, "model.activation").value_or("standard"));
  if (type == "swiglu" || type == "geglu") {
    flags.report().map("model.activation", type, flags.from(kType));
    return true;
  }
  if (stated != nullptr && type == "residual")
    flags.report().refuse("--mlp-type", "a dense MLP beside the experts", flags.from(kType));
  else if (stated != nullptr && type != "standard")
    flags.report().refuse("--mlp-type", "experts of several sizes by layer", flags.from(kType));
  return false;
}

void map_activation(const Flags& flags) {
  Report& report = flags.report();
  if (map_type_of_mlp(flags)) return;
  const auto glu = flags.text("glu-activation", "");
  if (const std::string swiglu = first_of(flags, {"swiglu", kLlamaSwiglu}); flags.on(swiglu))
    report.map("model.activation", "swiglu", flags.from(swiglu));
  else if (glu && *glu != "liglu")
    report.map("model.activation", *glu, flags.from("glu-activation"));
  else if (flags.on("squared-relu"))
    report.map("model.activation", "squared_relu", flags.from("squared-relu"));
  else if (flags.on("geglu"))
    report.map("model.activation", "geglu", flags.from("geglu"));
  else if (flags.on("quick-geglu"))
    report.map("model.activation", "geglu", flags.from("quick-geglu"));
  else
    report.assume("model.activation", "gelu", kDefault);
}

// FlagScale, megatron/arguments.py: int(int(8 * hidden / 3) * hidden_dim_multiplier), rounded up to multiple_of. Llama
// has the same (meta-llama/llama, llama/model.py, FeedForward).
void map_rounded_ffn(const Flags& flags, std::int64_t hidden, const char* name) {
  const auto stated = flags.whole(name, "model.ffn_hidden_size");
  if (!stated) return;
  const std::int64_t multiple = *stated;
  const double factor = flags.number("hidden-dim-multiplier", "model.ffn_hidden_size").value_or(1);
  if (multiple < 1 || !(factor > 0 && factor < 1000))
    return flags.report().refuse(std::string("--") + name, "expected a multiple of at least 1 and a factor above 0",
                                 flags.from(name));
  const auto width = static_cast<std::int64_t>(static_cast<double>(8 * hidden / 3) * factor);
  flags.report().map("model.ffn_hidden_size", (width + multiple - 1) / multiple * multiple, flags.from(name));
}

// megatron/training/arguments.py: int((4 * hidden * 2 / 3) / 64) * 64 with SwiGLU, else 4 x hidden
void map_ffn(const Flags& flags) {
  Report& report = flags.report();
  const std::string name = first_of(flags, {"ffn-hidden-size", "intermediate-size"});
  if (flags.find(name) != nullptr) return void(flags.map_whole(name, "model.ffn_hidden_size"));
  const auto hidden = report.whole("model.hidden_size");
  if (!hidden) return;
  if (flags.find("multiple-of") != nullptr && flags.on("swiglu")) return map_rounded_ffn(flags, *hidden, "multiple-of");
  if (flags.on(kLlamaSwiglu) && flags.find(kLlamaMultiple) != nullptr)
    return map_rounded_ffn(flags, *hidden, kLlamaMultiple);
  if (flags.on(kLlamaSwiglu))
    return report.ask("model.ffn_hidden_size",
                      fmt::format("--llama-swiglu rounds two thirds of four times the hidden size, {}, up to a "
                                  "multiple of the fork's swiglu_multiple_of, which no flag states",
                                  8 * *hidden / 3));
  constexpr std::int64_t kMultiple = 64;
  const bool swiglu = flags.on("swiglu");
  const std::int64_t width = swiglu ? 8 * *hidden / 3 / kMultiple * kMultiple : 4 * *hidden;
  report.assume("model.ffn_hidden_size", width,
                swiglu ? "two thirds of four times the hidden size with SwiGLU (validate_args)"
                       : "four times the hidden size (validate_args)");
}

}  // namespace

std::optional<std::string> digits_of_layers(std::string_view text) {
  constexpr std::size_t kMostLayers = 10000;
  std::string digits, group;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '0' || c == '1') {
      group += c;
    } else if (c == '*') {
      const std::size_t end = std::min(text.find_first_not_of("0123456789", at + 1), text.size());
      const auto times = whole_of(text.substr(at + 1, end - at - 1));
      if (!times || *times < 1 || group.empty() || static_cast<std::size_t>(*times) * group.size() > kMostLayers)
        return std::nullopt;
      for (std::int64_t i = 0; i < *times; ++i) digits += group;
      group.clear();
      at = end - 1;
    } else if (c == '+') {
      digits += group;
      group.clear();
    } else if (std::string_view("()[], '\"").find(c) == std::string_view::npos) {
      return std::nullopt;
    }
    if (digits.size() + group.size() > kMostLayers) return std::nullopt;
  }
  return digits + group;
}

namespace {

// N, or a digit a layer: dense layers first, then experts in every one; or experts in every n-th.
void map_expert_layers(const Flags& flags) {
  Report& report = flags.report();
  const std::string name = first_of(flags, {"moe-layer-freq", "expert-interval"});
  const auto text = flags.text(name, "model.moe_layer_freq");
  if (!text) {
    const bool old = flags.on("deepspeed");
    return report.assume("model.moe_layer_freq", old ? 2 : 1,
                         old ? "--expert-interval is 2 in Megatron-DeepSpeed" : kDefault);
  }
  if (const auto every = whole_of(*text)) return report.map("model.moe_layer_freq", *every, flags.from(name));
  const auto digits = digits_of_layers(*text);
  const std::int64_t layers = report.whole("model.num_layers").value_or(0);
  const auto refuse = [&] {
    report.refuse("--" + name,
                  "expected N, or a digit a layer: zeros, then ones; or ones at every n-th; found " + in_quotes(*text),
                  flags.from(name));
  };
  if (!digits || !std::cmp_equal(digits->size(), layers)) return refuse();
  const std::size_t dense = std::min(digits->find('1'), digits->size());
  std::size_t every = 1;
  if (digits->find('0', dense) != digits->npos) every = dense + 1;
  std::string pattern;
  for (std::size_t layer = 0; layer < digits->size(); ++layer)
    pattern += every > 1 ? ((layer + 1) % every == 0 ? '1' : '0') : (layer >= dense ? '1' : '0');
  if (pattern != *digits) return refuse();
  report.map("model.moe_layer_freq", every, flags.from(name));
  if (every == 1) report.map("model.first_k_dense_replace", dense, flags.from(name));
}

// MindSpeed-LLM: the first k layers are dense, and every n-th of the others has experts; -1 stands for all layers
// (mindspeed_llm/core/transformer/transformer_layer.py).
void map_dense_layers(const Flags& flags) {
  const char *const kFirst = "first-k-dense-replace", *const kEvery = "moe-layer-freq";
  const std::int64_t dense = std::max<std::int64_t>(flags.whole(kFirst, "model.first_k_dense_replace").value_or(0), 0);
  const std::int64_t every = std::max<std::int64_t>(flags.whole(kEvery, "model.moe_layer_freq").value_or(1), 1);
  if (dense > 0 && every > 1)
    return flags.report().refuse("--first-k-dense-replace", "dense layers both first and between those with experts",
                                 flags.from(kFirst));
  flags.report().map("model.moe_layer_freq", every, flags.from(flags.find(kEvery) != nullptr ? kEvery : kFirst));
  flags.report().map("model.first_k_dense_replace", dense, flags.from(kFirst));
}

constexpr const char* kGatedExpert = "enable-shared-expert";

// Qwen's layers of Pai-Megatron-Patch have a shared expert with a gate (megatron_patch/model/qwen2/moe/moe_layer.py).
// Returns true where the flags ask for it.
bool map_gated_expert(const Flags& flags) {
  constexpr const char* kWidth = "shared-moe-ffn-hidden-size";
  const bool on = flags.on(kGatedExpert);
  if (flags.find(kWidth) == nullptr) return false;
  if (on) flags.map_whole(kWidth, "model.moe_shared_expert_intermediate_size");
  if (on) flags.report().map("model.moe_shared_expert_gate", true, flags.from(kGatedExpert));
  if (!on)
    flags.report().approximate(std::string("--") + kWidth, std::string("it counts with --") + kGatedExpert + " only");
  return on;
}

// Pai-Megatron-Patch and MindSpeed-LLM count shared experts, each as wide as another expert.
void map_shared_experts(const Flags& flags) {
  Report& report = flags.report();
  const char *const kKey = "model.moe_shared_expert_intermediate_size", *const kWidth =
                                                                            "moe-shared-expert-intermediate-size";
  const std::string name = first_of(flags, {"num-shared-experts", "n-shared-experts"});
  if (flags.find(kWidth) != nullptr) {
    if (flags.on(kGatedExpert)) report.map("model.moe_shared_expert_gate", true, flags.from(kGatedExpert));
    return void(flags.map_whole(kWidth, kKey));
  }
  if (map_gated_expert(flags) || flags.find(name) == nullptr) return;
  const auto count = flags.whole(name, kKey);
  const auto width = report.whole("model.moe_ffn_hidden_size");
  if (count && width && *count > 0) report.map(kKey, *count * *width, flags.from(name));
}

// Experts of 2023 (SwitchMLP) and those of --use-legacy-models get a token one by one, whatever --moe-router-topk says.
// Megatron-Core 0.5 has the flag, and 2 as its default, together with most other flags --moe-*: NVIDIA/Megatron-LM,
// megatron/legacy/model/transformer.py (SwitchMLP); megatron/training/arguments.py (_add_moe_args).
void map_default_topk(const Flags& flags) {
  Report& report = flags.report();
  const char* const kKey = "model.moe_router_topk";
  if (flags.on("deepspeed")) return report.assume(kKey, 1, kDefault);
  if (flags.on("use-legacy-models")) return report.assume(kKey, 1, "SwitchMLP of --use-legacy-models");
  const bool newer = std::ranges::any_of(flags.all(), [](const Argument& one) {
    constexpr std::string_view kNewer[] = {"expert-tensor-parallel-size", "attention-backend", "fp8-recipe"};
    return (one.name.starts_with("moe-") && one.name != "moe-grouped-gemm") ||
           std::ranges::find(kNewer, one.name) != std::end(kNewer);
  });
  if (newer) return report.assume(kKey, 2, kDefault);
  report.ask(kKey,
             "no flag states it: the default is 2, but the code of 2023 sends a token to 1 expert; state --set "
             "model.moe_router_topk=N");
}

void map_experts(const Flags& flags) {
  Report& report = flags.report();
  const Argument* const stated = flags.find("num-experts");
  if (stated != nullptr && stated->values.size() > 1)
    return report.refuse("--num-experts", "several numbers: experts of each layer differ", flags.from("num-experts"));
  const auto experts = flags.whole("num-experts", "model.num_experts");
  if (!experts || *experts <= 1) return;
  report.map("model.num_experts", *experts, flags.from("num-experts"));
  const std::string top = first_of(flags, {"moe-router-topk", "moe-topk", "topk"});
  if (flags.find(top) != nullptr)
    flags.map_whole(top, "model.moe_router_topk");
  else
    map_default_topk(flags);
  const std::string width = first_of(flags, {"moe-ffn-hidden-size", "moe-intermediate-size"});
  if (flags.find(width) != nullptr)
    flags.map_whole(width, "model.moe_ffn_hidden_size");
  else if (const auto ffn = report.whole("model.ffn_hidden_size"))
    report.assume("model.moe_ffn_hidden_size", *ffn, "--ffn-hidden-size (validate_args)");
  map_shared_experts(flags);
  if (const std::string gate = first_of(flags, {"moe-shared-expert-gate", "shared-expert-gate"}); flags.on(gate))
    report.map("model.moe_shared_expert_gate", true, flags.from(gate));
  if (const char* const bias = "moe-router-enable-expert-bias"; flags.on(bias))
    report.map("model.moe_router_enable_expert_bias", true, flags.from(bias));
  flags.find("first-k-dense-replace") != nullptr ? map_dense_layers(flags) : map_expert_layers(flags);
}

void map_positions(const Flags& flags) {
  Report& report = flags.report();
  flags.map_whole("max-position-embeddings", "model.max_position_embeddings");
  const std::string name = first_of(flags, {"position-embedding-type", "pos-emb-type"});
  const auto type = flags.text(name, "model.position_embedding_type");
  const bool latent = is_latent(flags);
  // Baichuan-13B of Pai-Megatron-Patch adds a mask of ALiBi to its scores (megatron_patch/arguments.py).
  if (const char* const alibi = "use-alibi-mask"; flags.on(alibi))
    return report.map("model.position_embedding_type", "alibi", flags.from(alibi));
  // gpt-oss has YaRN, whatever the type (NVIDIA/Megatron-LM, megatron/post_training/model_builder.py).
  for (const char* rotary : {"use-rotary-position-embeddings", "use-llama2-rotary-position-embeddings",
                             "use-mistral-rotary-position-embeddings", "enable-gpt-oss"})
    if (flags.on(rotary)) return report.map("model.position_embedding_type", "rope", flags.from(rotary));
  if (type) {
    const bool rotary = *type == "rope" || *type == "rotary" || *type == "yarn" || *type == "mrope";
    const std::string word = rotary ? "rope" : *type == "absolute" ? "learned_absolute" : *type;
    if (word == "relative") flags.map_whole("relative-attention-num-buckets", "model.relative_attention_num_buckets");
    return report.map("model.position_embedding_type", word, flags.from(name));
  }
  if (flags.on("no-position-embedding"))
    return report.map("model.position_embedding_type", "none", flags.from("no-position-embedding"));
  report.assume("model.position_embedding_type", latent ? "rope" : "learned_absolute", kDefault);
}

void map_vocabulary(const Flags& flags) {
  Report& report = flags.report();
  for (const char* name : {"padded-vocab-size", "pad-vocab-size-to", "vocab-size"})
    if (flags.find(name) != nullptr) return void(flags.map_whole(name, "model.vocab_size"));
  report.ask("model.vocab_size", "the size of the vocabulary comes from the tokenizer");
}

// Megatron-LLM of EPFL has no biases unless asked, and names of its own (epfLLM/Megatron-LLM, megatron/arguments.py).
bool is_epfl(const Flags& flags) {
  for (const char* own : {"use-rms-norm", "no-tie-embed-logits", "use-bias", "parallel-attn", "parallel-layernorm",
                          "vocab-extra-ids-list", "no-new-tokens", "num-attention-heads-kv", "use-multiquery-attn"})
    if (flags.find(own) != nullptr) return true;
  return false;
}

// Megatron-DeepSpeed writes the names in lower case.
std::string norm_name(const std::string& name) {
  if (name == "rmsnorm") return "RMSNorm";
  return name == "layernorm" ? "LayerNorm" : name;
}

void map_norm(const Flags& flags) {
  Report& report = flags.report();
  const auto norm = flags.text("normalization", "model.normalization");
  if (norm) return report.map("model.normalization", norm_name(*norm), flags.from("normalization"));
  // Of Megatron-LLM, of FlagScale and of a fork of 2023 (MinfanZhao/Megatron-LM_).
  for (const char* name : {"use-rms-norm", "apply-layernorm-rms", "use-rmsnorm"})
    if (flags.on(name)) return report.map("model.normalization", "RMSNorm", flags.from(name));
  report.assume("model.normalization", "LayerNorm", kDefault);
}

void map_layer(const Flags& flags) {
  Report& report = flags.report();
  map_norm(flags);
  if (flags.on("disable-bias-linear"))
    report.map("model.add_bias_linear", false, flags.from("disable-bias-linear"));
  else if (flags.on("use-bias"))
    report.map("model.add_bias_linear", true, flags.from("use-bias"));
  else if (is_epfl(flags))
    report.assume("model.add_bias_linear", false, "Megatron-LLM has no biases without --use_bias");
  else
    report.assume("model.add_bias_linear", true, kDefault);
  if (flags.on("parallel-attn")) report.map("model.parallel_residual", true, flags.from("parallel-attn"));
  if (flags.on("add-qkv-bias")) report.map("model.add_qkv_bias", true, flags.from("add-qkv-bias"));
  if (flags.on("qk-layernorm")) report.map("model.qk_layernorm", true, flags.from("qk-layernorm"));
  if (flags.on("embed-layernorm")) report.map("model.embed_layernorm", true, flags.from("embed-layernorm"));
  const std::string untie = first_of(flags, {"untie-embeddings-and-output-weights", "no-tie-embed-logits"});
  if (flags.on(untie))
    report.map("model.untie_embeddings_and_output_weights", true, flags.from(untie));
  else
    report.assume("model.untie_embeddings_and_output_weights", false, kDefault);
  for (const char* name : {"hidden-dropout", "attention-dropout"}) {
    constexpr double kUsual = 0.1;
    const std::string key = std::string("model.") + (name[0] == 'h' ? "hidden_dropout" : "attention_dropout");
    const auto value = flags.number(name, key);
    if (value)
      report.map(key, *value, flags.from(name));
    else if (flags.find(name) == nullptr)
      report.assume(key, kUsual, kDefault);
  }
}

// One layer predicts at every depth: NVIDIA/Megatron-LM, megatron/core/transformer/multi_token_prediction.py.
void map_predictions(const Flags& flags) {
  const char* const kShared = "mtp-use-repeated-layer";
  const std::int64_t depths = flags.map_whole("mtp-num-layers", "model.mtp_num_layers").value_or(1);
  if (!flags.on(kShared)) return;
  if (depths <= 1) return flags.report().ignore(std::string("--") + kShared, flags.from(kShared));
  flags.report().approximate(std::string("--") + kShared,
                             "each depth of multi-token prediction has weights of its own here, which takes more "
                             "memory and longer reductions");
}

void map_layers(const Flags& flags, Program program) {
  if (has_two_halves(flags, program)) return map_layers_of_halves(flags);
  const std::string layers = first_of(flags, {"num-layers", "decoder-num-layers", "encoder-num-layers"});
  if (!flags.map_whole(layers, "model.num_layers"))
    flags.report().ask("model.num_layers", "the flags state no --num-layers");
}

}  // namespace

std::string first_of(const Flags& flags, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (flags.find(name) != nullptr) return std::string(name);
  return std::string(*names.begin());
}

void map_model(const Flags& flags, Program program) {
  Report& report = flags.report();
  report.scenario["model"]["model_type"] = "megatron";
  map_layers(flags, program);
  if (!flags.map_whole("hidden-size", "model.hidden_size"))
    report.ask("model.hidden_size", "the flags state no --hidden-size");
  map_activation(flags);
  map_ffn(flags);
  map_heads(flags);
  if (!report.has("model.num_attention_heads"))
    report.ask("model.num_attention_heads", "the flags state no --num-attention-heads");
  map_positions(flags);
  map_layer(flags);
  map_experts(flags);
  map_windows(flags);
  map_predictions(flags);
  map_vocabulary(flags);
}

}  // namespace foretoken::io::launch::megatron

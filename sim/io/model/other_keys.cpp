// Sorts unknown keys by the words of their names and by the kind of their values.
//
// A size is a whole number, and a kind of layer is named by a text, a switch or a list whose key says so: mlp_type,
// use_conv, layer_ratio. So a key without such a word may hold anything but a whole number. Words of launches (batch,
// precision, memory) do not count here: they change a run, not a model.
#include "sim/io/model/other_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::io {
namespace {

/// Keys that other programs write beside a model's. mlc-ai/mlc-llm@24ab415, python/mlc_llm/model/phi/phi_model.py: the
/// cache, the batch and the GPUs that serve the model. ml-explore/mlx-lm writes its 4-bit weights as `quantization`.
constexpr std::string_view kOfPrograms[] = {"context_window_size",     "prefill_chunk_size", "tensor_parallel_shards",
                                            "position_embedding_base", "max_batch_size",     "quantization"};

constexpr std::string_view kFreeWords[] = {"beam",       "beams",   "decoding", "eval",    "generate",
                                           "generation", "output",  "outputs",  "penalty", "sampling",
                                           "tokenizer",  "version", "versions"};

constexpr std::string_view kShapeWords[] = {
    "act",      "audio", "channels", "d",      "decoder", "delta",    "dense",    "encoder",     "features",   "hybrid",
    "image",    "inner", "k",        "kernel", "kv",      "language", "latent",   "len",         "length",     "linear",
    "llm",      "loops", "mixer",    "mtp",    "n",       "num",      "parallel", "proj",        "projection", "qk",
    "residual", "scan",  "shared",   "sparse", "speech",  "state",    "stride",   "text",        "tie",        "tied",
    "topk",     "units", "video",    "vision", "visual",  "weight",   "weights",  "intermediate"};

/// Parts of words of the same meaning: layernorm, num_experts, qkv_bias.
constexpr std::string_view kShapeParts[] = {
    "activation", "attention", "attn",   "bias", "block", "conv",   "depth", "dim",    "embd",
    "embed",      "expan",     "expert", "ffn",  "gate",  "gating", "head",  "hidden", "layer",
    "lora",       "mamba",     "mlp",    "moe",  "norm",  "quant",  "rank",  "ratio",  "recurren",
    "rope",       "rotary",    "router", "size", "ssm",   "vocab",  "width", "window", "multipl"};

bool holds_any(const std::vector<std::string>& words, std::span<const std::string_view> wanted) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return std::ranges::find(wanted, word) != wanted.end(); });
}

bool is_about_shape(const std::vector<std::string>& words) {
  return holds_any(words, kShapeWords) || std::ranges::any_of(words, [](const std::string& word) {
           return std::ranges::any_of(kShapeParts, [&](std::string_view part) { return word.find(part) != word.npos; });
         });
}

bool is_model(const nlohmann::json& object) {
  constexpr const char* kMarks[] = {"model_type", "hidden_size", "num_hidden_layers", "num_layers", "n_layer",
                                    "n_layers",   "n_embd",      "d_model",           "dim",        "vocab_size"};
  return std::ranges::any_of(kMarks, [&](const char* mark) { return object.contains(mark); });
}

bool holds_no_size(const nlohmann::json& value) {
  if (value.is_boolean() || value.is_string() || value.is_number_float()) return true;
  if (value.is_array())
    return std::ranges::all_of(value, [](const nlohmann::json& entry) { return entry.is_string(); });
  return value.is_object() && !is_model(value);
}

}  // namespace

bool is_off(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>() == 0;
  if (value.is_boolean()) return !value.get<bool>();
  return value.is_null() || value.empty();
}

bool is_beside_the_shape(std::string_view key) {
  const std::vector<std::string> words = words_of_name(key);
  return holds_any(words, kFreeWords) && !is_about_shape(words);
}

bool changes_no_shape(std::string_view key, const nlohmann::json& value) {
  if (std::ranges::find(kOfPrograms, key) != std::end(kOfPrograms) || is_off(value)) return true;
  return !is_about_shape(words_of_name(key)) && holds_no_size(value);
}

}  // namespace foretoken::io

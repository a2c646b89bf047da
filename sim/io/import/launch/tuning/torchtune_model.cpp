// Reads the models whose sizes a torchtune recipe states.
//
// Names and defaults: pytorch/torchtune,
// torchtune/models/{llama2,llama3,llama3_2,mistral,phi3,qwen2,gemma}/_component_builders.py, and
// qwen3/_model_builders.py: Qwen 3 is the builder qwen2 with norms of heads and without biases.
#include "sim/io/import/launch/tuning/torchtune_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr std::pair<std::string_view, const char*> kBuilders[] = {
    {"llama2", "llama"},    {"llama3", "llama"}, {"llama3_1", "llama"}, {"llama3_2", "llama"}, {"code_llama2", "llama"},
    {"mistral", "mistral"}, {"phi3", "phi3"},    {"qwen2", "qwen2"},    {"gemma", "gemma"}};

/// Keys that every builder needs, and their names in a config.json.
constexpr std::pair<std::string_view, const char*> kSizes[] = {{"model.num_layers", "num_hidden_layers"},
                                                               {"model.embed_dim", "hidden_size"},
                                                               {"model.num_heads", "num_attention_heads"},
                                                               {"model.vocab_size", "vocab_size"}};

/// Keys that some builders need and others compute, in the same way.
constexpr std::pair<std::string_view, const char*> kFurther[] = {{"model.num_kv_heads", "num_key_value_heads"},
                                                                 {"model.intermediate_dim", "intermediate_size"},
                                                                 {"model.head_dim", "head_dim"}};

/// Keys beside the sizes that a builder takes: LoRA's are read with the method, the others cost nothing. DoRA has a
/// rule.
constexpr std::string_view kBeside =
    "model._component_ model.lora_rank model.lora_alpha model.lora_dropout model.lora_attn_modules "
    "model.apply_lora_to_mlp model.apply_lora_to_output model.quantize_base model.use_dora model.max_seq_len "
    "model.norm_eps model.rope_base model.scale_factor model.norm_embeddings";

// torchtune/models/llama2/_model_utils.py, scale_hidden_dim_for_mlp: 8/3 of the width, rounded up to 256.
std::int64_t usual_width(std::int64_t hidden) {
  constexpr std::int64_t kMultiple = 256;
  const std::int64_t width = 4 * (2 * hidden / 3);
  return (width + kMultiple - 1) / kMultiple * kMultiple;
}

// "lora_llama2" is llama2 beside adapters.
std::string plain_builder(const std::string& builder) {
  for (const std::string_view adapter : {"qlora_", "lora_"})
    if (builder.starts_with(adapter)) return builder.substr(adapter.size());
  return builder;
}

// Experts, windows and parts of one's own change the layers.
void refuse_other_parts(const Settings& settings, Report& report) {
  for (const auto& [key, value] : settings.leaves()) {
    const bool no = value->is_string() && value->get<std::string>() == "false";
    const bool off = value->is_null() || (no && !key.ends_with("_bias"));  // biases are there unless it is false
    if (!key.starts_with("model.") || off || settings.was_asked(key) || lists_key(kBeside, key)) continue;
    (void)settings.at(key);
    const std::string setting = printable(key, 80);
    report.refuse(setting, "an unknown key of the model; if it changes no layer, go on with --allow " + setting);
  }
}

// Models of a name have no dropout of attention, and shipped ones are names.
void map_dropout(const Settings& settings, Report& report) {
  constexpr const char* kKey = "model.attn_dropout";
  const auto dropout = settings.number({kKey});
  if (!dropout || *dropout == 0) return;
  if (report.at("model").is_object()) return report.map("model.attention_dropout", *dropout, kKey);
  if (report.has("model"))
    report.refuse(kKey,
                  "the named model has no dropout of attention; state --model with its config.json, in which "
                  "attention_dropout stands");
}

// Returns the key that a builder needs beside kSizes and that the recipe lacks; empty for none. Only Llama's builders
// compute the width of the MLP, and only Gemma's takes head_dim.
std::string missing_key(const Settings& settings, std::string_view plain, std::string_view type) {
  if (!settings.has({"model.num_kv_heads"})) return "model.num_kv_heads";
  if (type != "llama" && !settings.has({"model.intermediate_dim"})) return "model.intermediate_dim";
  return plain == "gemma" && !settings.has({"model.head_dim"}) ? "model.head_dim" : "";
}

// Returns the model of the builder qwen2: with norms of queries and keys and without biases it is Qwen 3. Its keys are
// read for the whole of either model only.
const char* type_of_qwen(const Settings& settings) {
  const auto is = [&](const char* key, std::string_view value) {
    const auto& document = settings.document().at("model");
    const auto found = document.find(key);
    return found != document.end() && *found == value;
  };
  constexpr const char *kBiases[] = {"q_proj_bias", "k_proj_bias", "v_proj_bias"}, *kNorms[] = {"q_norm", "k_norm"};
  const bool newer = std::ranges::all_of(kBiases, [&](const char* key) { return is(key, "false"); }) &&
                     std::ranges::all_of(kNorms, [&](const char* key) { return is(key, "true"); });
  const bool older = std::ranges::none_of(kBiases, [&](const char* key) { return is(key, "false"); });
  if (!newer && !older) return nullptr;
  for (const char* key : kBiases) (void)settings.at(std::string("model.") + key);
  for (const char* key : kNorms)
    if (newer) (void)settings.at(std::string("model.") + key);
  return newer ? "qwen3" : "qwen2";
}

void map_sizes(const Settings& settings, const std::string& builder, std::string_view plain, const char* type,
               Report& report) {
  const auto ask = [&](std::string_view key) {
    report.ask("model", "the builder " + printable(builder, 40) + " takes " + std::string(key) +
                            " from the recipe; state it, or --model with its config.json");
  };
  Json model = {{"name", printable(builder, 80)}, {"model_type", type}};
  for (const auto& [key, name] : kSizes) {
    const auto value = settings.whole({key});
    if (!value || *value < 1 || *value > kMostCount) return ask(key);
    model[name] = *value;
  }
  if (const std::string missing = missing_key(settings, plain, type); !missing.empty()) return ask(missing);
  for (const auto& [key, name] : kFurther)
    if (const auto value = settings.whole({key})) model[name] = *value;
  // HF's Qwen 3 has another default.
  if (std::string_view(type) == "qwen3" && !model.contains("head_dim"))
    model["head_dim"] =
        model.at("hidden_size").get<std::int64_t>() / model.at("num_attention_heads").get<std::int64_t>();
  const bool tied = plain == "gemma" || plain == "llama3_2";
  model["tie_word_embeddings"] = tied || settings.on({"model.tie_word_embeddings"});
  const bool computed = !model.contains("intermediate_size");
  const auto hidden = model.at("hidden_size").get<std::int64_t>();
  report.map("model", std::move(model), "model._component_ and the sizes beside it");
  if (computed)
    report.assume("model.intermediate_size", usual_width(hidden),
                  "no model.intermediate_dim: torchtune's builder takes 8/3 of the width, rounded up to 256");
}

// Code Llama is Llama 2 with 32,016 words: torchtune/models/code_llama2/_model_builders.py.
bool map_code_llama(std::string_view plain, Report& report) {
  constexpr std::string_view kFamily = "code_llama2_";
  constexpr int kCodeLlamaWords = 32016;
  if (!plain.starts_with(kFamily)) return false;
  const auto base = model_of_name("llama2_" + std::string(plain.substr(kFamily.size())));
  if (!base || !base->model.is_string()) return false;
  Json model = Json::object();
  model["base"] = base->model;
  model["vocab_size"] = kCodeLlamaWords;
  report.map("model", std::move(model), "model._component_");
  return true;
}

}  // namespace

void map_torchtune_model(const Settings& settings, const std::string& builder, Report& report) {
  const std::string plain = plain_builder(builder);
  if (map_code_llama(plain, report)) return map_dropout(settings, report);
  const auto* const kind =
      std::ranges::find(kBuilders, std::string_view(plain), &std::pair<std::string_view, const char*>::first);
  if (kind == std::end(kBuilders)) {
    map_named_model(builder, "model._component_", report);
    return map_dropout(settings, report);
  }
  const char* const of_qwen = plain == "qwen2" ? type_of_qwen(settings) : nullptr;
  map_sizes(settings, builder, plain, of_qwen != nullptr ? of_qwen : kind->second, report);
  map_dropout(settings, report);
  refuse_other_parts(settings, report);
}

}  // namespace foretoken::io::launch::tuning

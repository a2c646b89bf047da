// Reads the models whose sizes a torchtune recipe states.
//
// Names and defaults: pytorch/torchtune, torchtune/models/{llama2,llama3,mistral,qwen2,gemma}/_component_builders.py.
#include "sim/io/import/launch/tuning/torchtune_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr std::pair<std::string_view, const char*> kBuilders[] = {
    {"llama2", "llama"},    {"llama3", "llama"}, {"llama3_1", "llama"}, {"code_llama2", "llama"},
    {"mistral", "mistral"}, {"qwen2", "qwen2"},  {"gemma", "gemma"}};

/// Keys that every builder needs, and their names in a config.json.
constexpr std::pair<std::string_view, const char*> kSizes[] = {{"model.num_layers", "num_hidden_layers"},
                                                               {"model.embed_dim", "hidden_size"},
                                                               {"model.num_heads", "num_attention_heads"},
                                                               {"model.vocab_size", "vocab_size"}};

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

}  // namespace

void map_torchtune_model(const Settings& settings, const std::string& builder, Report& report) {
  const std::string plain = plain_builder(builder);
  const auto* const kind =
      std::ranges::find(kBuilders, std::string_view(plain), &std::pair<std::string_view, const char*>::first);
  if (kind == std::end(kBuilders)) return map_named_model(builder, "model._component_", report);
  Json model = {{"name", printable(builder, 80)}, {"model_type", kind->second}};
  for (const auto& [key, name] : kSizes) {
    const auto value = settings.whole({key});
    if (!value || *value < 1 || *value > kMostCount)
      return report.ask("model", "the builder " + printable(builder, 40) + " takes " + std::string(key) +
                                     " from the recipe; state it, or --model with its config.json");
    model[name] = *value;
  }
  const auto heads = model.at("num_attention_heads").get<std::int64_t>();
  model["num_key_value_heads"] = settings.whole({"model.num_kv_heads"}).value_or(heads);
  model["intermediate_size"] =
      settings.whole({"model.intermediate_dim"}).value_or(usual_width(model.at("hidden_size").get<std::int64_t>()));
  if (const auto dim = settings.whole({"model.head_dim"})) model["head_dim"] = *dim;
  const bool gemma = plain == "gemma";
  model["tie_word_embeddings"] = gemma || settings.on({"model.tie_word_embeddings"});
  for (const char* key : {"model.max_seq_len", "model.attn_dropout", "model.norm_eps", "model.rope_base"})
    (void)settings.at(key);
  report.map("model", std::move(model), "model._component_ and the sizes beside it");
}

}  // namespace foretoken::io::launch::tuning

// Reads adapters of NeMo 1.
//
// Names and defaults: NVIDIA/NeMo v2.0, nemo/collections/nlp/parts/peft_config.py, and
// examples/nlp/language_modeling/tuning/conf/megatron_gpt_finetuning_config.yaml.
#include "sim/io/import/launch/nemo/peft.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr std::pair<std::string_view, const char*> kProducts[] = {
    {"attention_qkv", "linear_qkv"},
    {"attention_dense", "linear_proj"},
    {"mlp_fc1", "linear_fc1"},
    {"mlp_fc2", "linear_fc2"},
    {"attention", "linear_qkv linear_proj"},
    {"mlp", "linear_fc1 linear_fc2"},
    {"all", "linear_qkv linear_proj linear_fc1 linear_fc2"}};

// Returns the names of products, parted by spaces; an unknown one stays.
std::string products_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view(",[]'\"").find(c) != std::string_view::npos; }, ' ');
  std::string products;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string name = text.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    const auto* const known = std::ranges::find(kProducts, name, &std::pair<std::string_view, const char*>::first);
    products += " ";
    products += known == std::end(kProducts) ? name : std::string(known->second);
  }
  return products;
}

}  // namespace

void map_peft(const Settings& settings) {
  Report& report = settings.report();
  const Names kScheme = {"model.peft.peft_scheme"};
  const std::string scheme = lower_case(settings.text(kScheme).value_or(""));
  const auto inner = [](const char* key) { return std::string("model.peft.lora_tuning.") + key; };
  const std::string layers = inner("layer_selection"), targets = inner("target_modules"), rank = inner("adapter_dim");
  (void)settings.at("model.peft");  // sections of other schemes have no effect
  if (scheme.empty()) return;
  if (settings.has({layers})) report.refuse(layers, "adapters in some layers", layers);
  if (settings.on({inner("weight_tying")}))
    report.refuse(inner("weight_tying"), "adapters that share weights", inner("weight_tying"));
  if (settings.text({inner("variant")}).value_or("nemo") != "nemo")
    report.refuse(inner("variant"), "an adapter for each part of a fused product", inner("variant"));
  const auto stated = settings.text({targets});
  map_adapter({.method = scheme,
               .from = settings.from(kScheme),
               .rank = settings.whole({rank}),
               .targets = stated ? products_of(*stated) : "linear_qkv",
               .targets_because = stated ? "" : "the default of lora_tuning.target_modules (attention_qkv)",
               .rank_from = rank,
               .targets_from = targets,
               .usual_rank = 32,
               .runtime = "megatron-lora"},
              report);
}

}  // namespace foretoken::io::launch::nemo

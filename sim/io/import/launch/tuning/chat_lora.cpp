// Reads the adapters of DeepSpeed-Chat.
//
// Source: microsoft/DeepSpeedExamples, applications/DeepSpeed-Chat, dschat/utils/module/lora.py
// (convert_linear_layer_to_lora, only_optimize_lora_parameters).
#include "sim/io/import/launch/tuning/chat_lora.h"

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/names/adapter_products.h"

namespace foretoken::io::launch::tuning {

// LoRA freezes the weights beside its adapters. Without --only_optimize_lora all others train too.
void map_lora_of_chat(const Settings& settings, Report& report) {
  const auto rank = settings.whole({"lora_dim"});
  const auto stated = settings.text({"lora_module_name"});
  const std::string where = stated.value_or("decoder.layers.");
  const bool alone = settings.on({"only_optimize_lora"});
  (void)settings.at("lora_learning_rate");
  if (rank.value_or(0) < 1) return;
  const std::string key = "lora_module_name " + printable(where, 40);
  if (names_modules_of_layers(where, report) == false) {
    if (alone)
      return report.refuse(key, "no module of the model has such a name, and --only_optimize_lora freezes all others");
    return report.approximate(key,
                              "no module of the model has such a name: no adapters are added, and all weights train");
  }
  if (!alone)
    report.refuse("lora_dim",
                  "without --only_optimize_lora embeddings, norms and biases train whole beside the adapters");
  const bool layers = where.ends_with("layers.") || where.ends_with("layers") || where.ends_with("h.");
  if (!layers) return report.refuse(key, "no adapter is modelled beside these products alone");
  map_adapter({.method = "lora",
               .from = "lora_dim",
               .rank = rank,
               .targets = "all",
               .targets_because = stated ? "" : "DeepSpeed-Chat's default: all products of decoder.layers.",
               .targets_from = "lora_module_name"},
              report);
}

}  // namespace foretoken::io::launch::tuning

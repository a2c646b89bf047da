// Reads configurations of fine-tuning that take their model from weights.
//
// Names and rules: NVIDIA/NeMo v1.23 to v2.0, examples/nlp/language_modeling/tuning/conf and
// nemo/collections/nlp/parts/megatron_trainer_builder.py (merge_cfg_with); NVIDIA/NeMo-Framework-Launcher,
// launcher_scripts/conf/{peft,fine_tuning}.
#include "sim/io/import/launch/nemo/restored.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr std::string_view kWeights[] = {"restore_from_path", "language_model_path"};

}  // namespace

// Words of a command line alone hold no name; complete_keys.cpp reads their weights.
bool restores_model(const Settings& settings) {
  const Json& document = settings.document();
  const Json& model = document.at("model");
  if (!document.contains("name")) return false;
  for (const char* sizes : {"num_layers", "hidden_size", "encoder", "decoder"})
    if (model.contains(sizes)) return false;
  return model.contains("peft") ||
         std::ranges::any_of(kWeights, [&](std::string_view key) { return model.contains(key); });
}

void map_restored_model(const Settings& settings) {
  Report& report = settings.report();
  report.forget("model");
  std::erase_if(report.asked, [](const Asked& one) { return one.key.starts_with("model."); });
  const Names kPath = {"model.restore_from_path", "model.language_model_path"};
  const std::string path = settings.text(kPath).value_or("");
  const std::string name = std::filesystem::path(path).stem().string();
  if (!name.empty() && model_of_name(name))
    map_named_model(name, settings.from(kPath), report);
  else
    report.ask("model", "the sizes stand in the weights of model.restore_from_path; state --model");
  // These win over the configuration in the weights.
  for (const char* key : {"model.hidden_dropout", "model.attention_dropout", "model.ffn_dropout"})
    if (settings.number({key}).value_or(0) > 0)
      report.refuse(key, "it changes the model of the weights; state --model with its config.json, and allow this");
}

}  // namespace foretoken::io::launch::nemo

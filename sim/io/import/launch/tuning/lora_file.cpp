// Names: LianjiaTech/BELLE, train/configs/lora_config_llama.json; QwenLM/Qwen2.5-Coder, finetuning/sft/scripts/
// sft_qwencoder_with_lora.sh; huggingface/peft, LoraConfig.
#include "sim/io/import/launch/tuning/lora_file.h"

#include <algorithm>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr std::string_view kFiles[] = {"lora_config", "lora_config_file", "lora_config_path", "lora_hyperparams_file",
                                       "peft_config", "peft_config_file", "peft_config_path"};

bool is_file_of_text(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml");
}

// PEFT takes a folder, in which its configuration has one name: huggingface/peft, src/peft/config.py (from_pretrained)
// and utils/constants.py (CONFIG_NAME).
std::string file_of(const std::string& stated) {
  if (is_file_of_text(stated)) return stated;
  return stated + (stated.ends_with('/') ? "" : "/") + "adapter_config.json";
}

// Returns the object of a file of JSON or YAML with texts; none where it is not there or is no object.
std::optional<Json> object_of(const shell::Script& script, const std::string& name, const std::string& folder) {
  const auto text = text_of_named(script, name, folder);
  if (!text) return std::nullopt;
  Findings unread;
  const bool plain = name.ends_with(".json");
  const auto json = plain ? parse_json(*text, name, unread) : std::nullopt;
  const auto document = plain ? (json ? std::optional<Json>(as_texts(Json(*json))) : std::nullopt)
                              : read_yaml(*text, "the file of LoRA", unread);
  return document && document->is_object() ? document : std::nullopt;
}

// Keys of PEFT's LoraConfig that change no time and no memory.
constexpr std::string_view kHarmless[] = {
    "lora_alpha", "alpha",          "lora_dropout",      "dropout",        "bias",        "task_type",
    "peft_type",  "inference_mode", "auto_mapping",      "fan_in_fan_out", "use_rslora",  "base_model_name_or_path",
    "revision",   "corda_config",   "init_lora_weights", "megatron_core",  "peft_version"};

// Returns the name that programs give to a key of the file.
std::string name_of_programs(const std::string& key) {
  if (key == "r" || key == "lora_rank") return "lora_r";
  if (key == "target_modules" || key == "lora_target") return "lora_target_modules";
  return key;
}

}  // namespace

void take_lora_file(const shell::Script& script, const std::string& folder, Json& document, Report& report) {
  const auto* const key = std::ranges::find_if(kFiles, [&](std::string_view one) { return document.contains(one); });
  const bool adapts = Settings(document, report).on({"use_lora", "use_peft", "lora", "enable_lora", "lora_enable"});
  if (key == std::end(kFiles) || !adapts) return;
  const std::string flag(*key), stated = document.value(flag, ""), name = file_of(stated);
  const bool by_peft = flag.starts_with("peft") && stated.find('/') != stated.npos;  // a folder; else a kind of adapter
  if (!is_file_of_text(stated) && !by_peft) return;
  document.erase(flag);
  const auto file = object_of(script, name, folder);
  if (!file)
    return report.ask("training.rank", "the file of --" + flag + ", " + printable(name, 80) +
                                           ", is not there or cannot be read; state --set training.rank=N");
  for (const auto& [theirs, value] : file->items()) {
    const std::string own = name_of_programs(theirs);
    const bool says_nothing = value.is_null() || value == "" || value == "null" || value.empty();
    if (!says_nothing && !document.contains(own) && std::ranges::find(kHarmless, own) == std::end(kHarmless))
      document[own] = value;
  }
}

}  // namespace foretoken::io::launch::tuning

// Reads what accelerate's file and options say about a program.
#include "sim/io/import/launch/tuning/beside_accelerate.h"

#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/yaml/read_yaml.h"

namespace foretoken::io::launch::tuning {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileKey = "deepspeed_config_file";

// Returns the DeepSpeed file that accelerate's file names; empty for none.
std::string deepspeed_file_in(const Json& settings) {
  if (settings.value("distributed_type", "") != "DEEPSPEED") return "";
  const auto section = settings.find("deepspeed_config");
  if (section == settings.end() || !section->is_object()) return "";
  const auto file = section->find(kFileKey);
  return file != section->end() && file->is_string() && *file != "none" ? file->get<std::string>() : "";
}

// Reads the file that `accelerate launch --config_file` names.
std::optional<Json> accelerate_file(const shell::Script& script, const std::string& name, const std::string& folder,
                                    Report& own, Report& report) {
  Findings unread;
  const auto text = text_of_named(script, name, folder);
  auto settings = text ? read_yaml(*text, "accelerate's file", unread) : std::nullopt;
  if (settings && deepspeed::is_accelerate(*settings)) {
    Json alone = *settings;  // the DeepSpeed file that it names is read as one of the program
    if (!deepspeed_file_in(alone).empty()) alone["deepspeed_config"].erase(kFileKey);
    deepspeed::read_accelerate(alone, fs::path(folder) / name, std::nullopt, own);
    return settings;
  }
  report.ask("optimizer.zero_stage", "accelerate's file " + printable(shell::shown_unknown(name), 100) +
                                         ", which decides about sharding and recomputing, is not there");
  return std::nullopt;
}

// Returns the devices of accelerate's options as a name of a DeepSpeed file has them.
template <class Option>
std::string offload_words(const Option& option) {
  const auto is_moved = [&](const char* name) { return option(name) == "cpu" || option(name) == "nvme"; };
  const bool optimizer = is_moved("offload-optimizer-device"), parameters = is_moved("offload-param-device");
  return std::string(optimizer || parameters ? "_offload" : "") + (optimizer ? "_optimizer" : "") +
         (parameters ? "_param" : "");
}

// Returns the words of the Trainer's --fsdp: the strategy, with replicas of shards, and a policy for units. Refuses
// policies of accelerate's options that are not modelled; its file is judged by its own reader.
template <class Option>
std::string words_of_fsdp(const Option& option, const std::optional<Json>& file, bool keeps_weights, Report& report) {
  const Json section = file ? file->value("fsdp_config", Json()) : Json();
  const auto word = [&](const char* flag, const char* key) {
    const bool in_file = section.is_object() && section.contains(key) && section.at(key).is_string();
    const std::string own = option(flag);
    return own.empty() && in_file ? section.at(key).template get<std::string>() : own;
  };
  const std::string strategy = lower_case(word("fsdp-sharding-strategy", "fsdp_sharding_strategy"));
  const char* const policy = "fsdp_auto_wrap_policy";
  if (const std::string own = option("fsdp-auto-wrap-policy"); !own.empty())
    note_units(Settings(Json{{"fsdp_config", {{policy, own}}}}, report), stage_of_strategy(strategy).value_or(3));
  const bool hybrid = strategy.find("hybrid") != strategy.npos || strategy == "4" || strategy == "5";
  const std::string usual = keeps_weights ? "shard_grad_op" : "full_shard";
  return (hybrid ? strategy : usual) + (word("fsdp-auto-wrap-policy", policy).empty() ? "" : " auto_wrap");
}

}  // namespace

Report add_accelerate(const shell::Script& script, const LaunchedProgram& launched, const std::string& folder,
                      bool with_config, Json& document, Report& report) {
  const auto option = [&](const char* name) {
    const Argument* const found = last_of(launched.options, name);
    return found == nullptr ? std::string() : joined_values(*found);
  };
  Report file;
  const std::string name = value_of(launched.options, "config-file");  // -m may follow its name
  const auto settings = name.empty() ? std::nullopt : accelerate_file(script, name, folder, file, report);
  const bool by_fsdp = launched.has("use-fsdp") || (settings && settings->value("distributed_type", "") == "FSDP");
  std::string type = option("mixed-precision");
  if (type.empty() && file.has("precision")) type = file.at("precision").get<std::string>();
  if ((type == "bf16" || type == "fp16") && !document.contains("bf16") && !document.contains("fp16"))
    document[type] = "true";
  const auto stage = file.whole("optimizer.zero_stage");
  std::string said = stage ? std::to_string(*stage) : "";
  if (launched.has("use-deepspeed"))  // stage 2 by default: accelerate/utils/dataclasses.py, DeepSpeedPlugin
    said = (option("zero-stage").empty() ? "2" : option("zero-stage")) + offload_words(option);
  if (const std::string own = option("fsdp-sharding-strategy"); own == "2" || own == "SHARD_GRAD_OP") said = "2";
  const std::string moved = option("fsdp-offload-params") == "true" ? " offload" : "";
  if (option("fsdp-activation-checkpointing") == "true") document["gradient_checkpointing"] = "true";
  const bool decided = with_config || document.contains("deepspeed") || document.contains("fsdp");
  if (!decided && by_fsdp)
    document["fsdp"] = words_of_fsdp(option, settings, said == "2", report) + moved;
  else if (!decided && !said.empty())
    document["deepspeed"] = "zero" + said;
  if (launched.has("use-deepspeed") && !decided)
    for (const auto& [flag, key] : {std::pair{"offload-optimizer-device", "offload_optimizer_device"},
                                    std::pair{"offload-param-device", "offload_param_device"}})
      if (option(flag) == "nvme") document[key] = "nvme";
  // The Trainer takes it over from accelerate's file: transformers/trainer.py, create_accelerator_and_postprocess.
  if (file.at("recompute.granularity") == "full") document["gradient_checkpointing"] = "true";
  return file;
}

// accelerate opens the file from the folder of the launch: accelerate/utils/dataclasses.py, DeepSpeedPlugin.
bool add_deepspeed_of_accelerate(const shell::Script& script, const LaunchedProgram& launched,
                                 const std::string& folder, std::vector<Argument>& arguments) {
  constexpr const char* kDeepSpeed = "deepspeed";
  if (last_of(arguments, kDeepSpeed) != nullptr) return false;
  if (const Argument* const file = last_of(launched.options, "deepspeed-config-file")) {
    arguments.push_back({kDeepSpeed, file->values, file->place});
    return false;
  }
  const std::string name = value_of(launched.options, "config-file");
  const auto text = name.empty() ? std::nullopt : text_of_named(script, name, folder);
  Findings unread;
  const auto settings = text ? read_yaml(*text, "accelerate's file", unread) : std::nullopt;
  if (!settings || !deepspeed::is_accelerate(*settings)) return false;
  std::string file = deepspeed_file_in(*settings);
  if (file.empty()) return false;
  const auto own = near_file(name, folder);
  const auto beside =
      own && !text_of_named(script, file, folder) ? near_file(file, own->parent_path().string()) : std::nullopt;
  if (beside) file = beside->string();
  arguments.push_back({kDeepSpeed, {std::move(file)}, "accelerate's file"});
  return true;
}

}  // namespace foretoken::io::launch::tuning

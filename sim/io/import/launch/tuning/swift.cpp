// Reads ms-swift's command line as arguments of Hugging Face's Trainer.
//
// Names and defaults: modelscope/ms-swift v2, swift/llm/utils/argument.py; v3,
// swift/llm/argument/{base_args,tuner_args,train_args}.py, swift/trainers/arguments.py.
#include "sim/io/import/launch/tuning/swift.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/names/adapter_products.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr std::pair<const char*, const char*> kNames[] = {{"model_id_or_path", "model_name_or_path"},
                                                          {"model", "model_name_or_path"},
                                                          {"sft_type", "finetuning_type"},
                                                          {"train_type", "finetuning_type"},
                                                          {"tuner_type", "finetuning_type"},
                                                          {"lora_target_modules", "lora_target"},
                                                          {"target_modules", "lora_target"},
                                                          {"batch_size", "per_device_train_batch_size"},
                                                          {"quant_bits", "quantization_bit"},
                                                          {"quant_method", "quantization_method"},
                                                          {"dtype", "torch_dtype"},
                                                          {"attn_impl", "attn_implementation"},
                                                          {"use_flash_attn", "attn_implementation"}};

/// Keys of the data, the prompts and the hub.
constexpr std::string_view kWithoutEffect[] = {"model_author",
                                               "model_name",
                                               "model_type",
                                               "system",
                                               "loss_scale",
                                               "tools_prompt",
                                               "agent_template",
                                               "split_dataset_ratio",
                                               "dataset_num_proc",
                                               "truncation_strategy",
                                               "lazy_tokenize",
                                               "load_from_cache_file",
                                               "tuner_backend",
                                               "template_type",
                                               "train_dataset_sample",
                                               "train_dataset_mix_ratio",
                                               "val_dataset",
                                               "custom_register_path",
                                               "custom_train_dataset_path",
                                               "custom_val_dataset_path",
                                               "check_dataset_strategy",
                                               "val_dataset_sample",
                                               "dataset_test_ratio",
                                               "self_cognition_sample",
                                               "use_hf",
                                               "acc_strategy",
                                               "save_only_model",
                                               "model_revision",
                                               "preprocess_num_proc",
                                               "use_chat_template",
                                               "dataset_shuffle",
                                               "train_dataloader_shuffle",
                                               "create_checkpoint_symlink",
                                               "norm_bbox"};

std::string text_in(const Json& document, const char* key) { return document.value(key, std::string()); }

void refuse_others(const std::string& kind, const Json& document, Report& report) {
  if (kind == "rlhf") report.refuse("rlhf", "preference or RL stage, not plain training");
  const std::string method = text_in(document, "finetuning_type");
  if (method != "lora" && method != "full")
    report.refuse("train_type " + printable(method, 40), "other weights train than with LoRA", "train_type");
  const std::string task = text_in(document, "task_type");
  if (!task.empty() && task != "causal_lm")
    report.refuse("task_type " + printable(task, 40), "not a language model", "task_type");
  if (const auto ranks = whole_of(text_in(document, "sequence_parallel_size")); ranks && *ranks > 1)
    report.refuse("sequence_parallel_size", "sequence parallelism of ms-swift", "sequence_parallel_size");
}

// v3 accumulates until a step has 16 sequences; so does v2, whose batch is that of one device.
void add_accumulation(std::optional<std::int64_t> gpus, Json& document, Report& report) {
  constexpr std::int64_t kSequences = 16;
  if (document.contains("gradient_accumulation_steps")) return;
  const std::int64_t each = whole_of(text_in(document, "per_device_train_batch_size")).value_or(1);
  if (!gpus || *gpus < 1 || each < 1)
    return report.approximate("gradient_accumulation_steps", "ms-swift accumulates until a step has 16 sequences");
  const std::int64_t ranks = each * *gpus;
  document["gradient_accumulation_steps"] = std::to_string((kSequences + ranks - 1) / ranks);
}

void add_precision(Json& document, Report& report) {
  if (document.contains("bf16") || document.contains("fp16")) return;
  const std::string type = text_in(document, "torch_dtype");
  if (type == "float16" || type == "fp16") {
    document["fp16"] = "true";
  } else if (type != "float32" && type != "fp32") {
    document["bf16"] = "true";
    if (type.empty() || type == "AUTO" || type == "auto")
      report.approximate("torch_dtype", "the model's config.json states it; bf16 is taken");
  }
}

}  // namespace

bool is_swift(const shell::Command& command) {
  constexpr std::array kModules = {"swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py", "swift.cli.sft",
                                   "swift.cli.pt",     "llm_sft.py",      "llm_pt.py"};  // the last two: v1
  const auto& words = command.words;
  for (std::size_t i = 0; i + 1 < words.size() && !words[i].starts_with("--"); ++i) {
    const std::string& next = words[i + 1];
    if (std::filesystem::path(words[i]).filename() == "swift" && (next == "sft" || next == "pt" || next == "rlhf"))
      return true;
  }
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(kModules, [&](const char* module) { return word.ends_with(module); });
  });
}

std::vector<OwnName> become_trainer(const shell::Command& command, std::optional<std::int64_t> gpus, Json& document,
                                    Report& report) {
  std::vector<OwnName> renamed;
  // v2 names the model in model_type, where the path is the user's own.
  const std::string type = text_in(document, "model_type");
  const bool old = document.contains("sft_type") || document.contains("model_id_or_path") ||
                   (!type.empty() && !document.contains("model"));
  for (const std::string_view key : kWithoutEffect)
    if (document.erase(std::string(key)) > 0) report.ignore(std::string(key), "");
  if (!type.empty() && !document.contains("model")) document["model_id_or_path"] = type;
  for (const auto& [own, name] : kNames) {
    const auto found = document.find(own);
    if (found == document.end()) continue;
    const Json value = *found;
    document.erase(own);
    document[name] = value;
    renamed.push_back({name, own});
  }
  const auto usual = [&](const char* key, const char* value, const char* own = "") {
    if (document.contains(key)) return;
    document[key] = value;
    report.approximate(key, std::string(value) + " is ms-swift's default");
    if (*own != '\0') renamed.push_back({key, own});
  };
  usual("finetuning_type", "lora", old ? "sft_type" : "train_type");
  if (!document.contains("stage")) document["stage"] = "sft";  // LLaMA-Factory's word, whose reader this is
  usual("per_device_train_batch_size", "1");
  if (old) usual("max_length", "2048");
  // Versions 1 and 2 have a default for each kind of model, all of them the products of attention's inputs: LoRATM in
  // swift/llm/utils/model.py.
  if (old && text_in(document, "lora_target") == "DEFAULT") document.erase("lora_target");
  if (old && text_in(document, "finetuning_type") == "lora")
    usual("lora_target", attention_inputs_of(text_in(document, "model_name_or_path")).c_str(), "lora_target_modules");
  if (text_in(document, "lora_target") == "ALL" || text_in(document, "lora_target") == "DEFAULT")
    document["lora_target"] = "all";
  // LLaMA-Factory's word says the opposite.
  if (const std::string stated = text_in(document, "gradient_checkpointing"); !stated.empty()) {
    document["disable_gradient_checkpointing"] = switch_of(stated).value_or(true) ? "false" : "true";
    renamed.push_back({"disable_gradient_checkpointing", "gradient_checkpointing"});
  }
  document.erase("gradient_checkpointing");
  add_accumulation(gpus, document, report);
  add_precision(document, report);
  const bool preferences = std::ranges::any_of(
      command.words, [](const std::string& word) { return word == "rlhf" || word.ends_with("rlhf.py"); });
  refuse_others(preferences ? "rlhf" : "", document, report);
  document.erase("task_type");
  document.erase("sequence_parallel_size");
  return renamed;
}

void cite_own_names(const std::vector<OwnName>& names, Report& report) {
  for (const auto& [name, own] : names) {
    const auto cite = [&name = name, &own = own](std::string& text) {
      if (text == name) text = own;
    };
    for (Mapped& one : report.mapped) cite(one.from);
    for (Ignored& one : report.ignored) cite(one.setting);
    for (Refused& one : report.refused) cite(one.setting), cite(one.from);
    for (Assumed& one : report.assumed)
      if (one.value.empty()) cite(one.key);
  }
}

}  // namespace foretoken::io::launch::tuning

// Renames the arguments of programs that train as the Trainer does.
//
// Names and defaults: OpenRLHF/OpenRLHF, openrlhf/cli/train_sft.py (before and after its flags were grouped);
// meta-llama/llama-recipes, src/llama_recipes/configs/training.py, fsdp.py and peft.py; artidoro/qlora, qlora.py;
// tloen/alpaca-lora, finetune.py.
#include "sim/io/import/launch/tuning/other_programs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/tuning/chat_programs.h"
#include "sim/io/import/launch/tuning/frozen_weights.h"
#include "sim/io/import/launch/tuning/own_programs.h"
#include "sim/io/import/launch/tuning/trl.h"

namespace foretoken::io::launch::tuning {

bool is_on(const std::vector<Argument>& arguments, std::string_view name) {
  const Argument* const found = last_of(arguments, name);
  return found != nullptr && (found->values.empty() || switch_of(found->values.front()).value_or(true));
}

namespace {

constexpr std::string_view kRlhfBatch = "micro-train-batch-size", kRecipesBatch = "batch-size-training",
                           kOldBatch = "per-gpu-train-batch-size";

// Versions from 2026 on group their flags: --ds.zero_stage, --model.model_name_or_path. LitGPT, too, has a group
// "train".
bool has_groups(const std::vector<Argument>& arguments) {
  return std::ranges::any_of(std::array{"model.model-name-or-path", "ds.zero-stage"},
                             [&](const char* name) { return last_of(arguments, name) != nullptr; });
}

// The type of the weights is bf16 in versions that state it; without --bf16 older ones take that of the model's files.
void take_precision_of_rlhf(const Taken& taken) {
  const bool grouped = has_groups(taken.arguments);
  constexpr Renamed kType[] = {{"ds.param-dtype", "dtype"}, {"param-dtype", "dtype"}};
  taken.rename(kType);
  if (last_of(taken.arguments, "dtype") != nullptr || is_on(taken.arguments, "bf16")) return;
  if (grouped)
    taken.add_default("dtype", {"bf16"});
  else
    taken.arguments.push_back({"dtype", {"auto"}, ""});
}

void take_open_rlhf(const Taken& taken) {
  std::vector<Argument>& arguments = taken.arguments;
  taken.origins.program = "OpenRLHF";
  std::erase_if(arguments, [](const Argument& one) {  // rank 0 is none
    return (one.name == "lora-rank" || one.name == "ds.lora.rank") && !one.values.empty() && one.values.front() == "0";
  });
  take_precision_of_rlhf(taken);
  constexpr Renamed kRlhfNames[] = {{kRlhfBatch, "per-device-train-batch-size"},
                                    {"train.micro-batch-size", "per-device-train-batch-size"},
                                    {"train-batch-size", "global-train-batch-size"},
                                    {"train.batch-size", "global-train-batch-size"},
                                    {"max-len", "max-seq-length"},
                                    {"data.max-len", "max-seq-length"},
                                    {"pretrain", "model-name-or-path"},
                                    {"model.model-name-or-path", "model-name-or-path"},
                                    {"model.gradient-checkpointing-enable", "gradient-checkpointing"},
                                    {"packing-samples", "packing"},
                                    {"ds.packing-samples", "packing"},
                                    {"lora-rank", "lora-r"},
                                    {"ds.lora.rank", "lora-r"},
                                    {"ds.lora.target-modules", "target-modules"},
                                    {"ds.load-in-4bit", "load-in-4bit"},
                                    {"ds.zero-stage", "zero-stage"},
                                    {"ds.adam-offload", "adam-offload"},
                                    {"ds.ring-attn-size", "ring-attn-size"},
                                    {"ds.zpg", "zpg"},
                                    {"ds.tensor-parallel-size", "ds-tensor-parallel-size"},
                                    {"ds.attn-implementation", "attn-implementation"},
                                    {"ds.use-liger-kernel", "use-liger-kernel"},
                                    {"optimizer", "optim"},
                                    {"flash-attn", "use-flash-attn"}};
  taken.rename(kRlhfNames);
  if (last_of(arguments, "deepspeed") == nullptr) arguments.push_back({"deepspeed", {}, ""});
  taken.add_default("zero-stage", {"2"});
  taken.add_default("per-device-train-batch-size", {"8"});
  taken.add_default("global-train-batch-size", {"128"});
  taken.add_default("max-seq-length", {"2048"});
  // OpenRLHF, openrlhf/cli/train_sft.py: the default of --target_modules.
  if (last_of(arguments, "lora-r") != nullptr) taken.add_default("target-modules", {"all-linear"});
}

// The batch of a step and rank is cut into micro-batches in old versions.
void take_batch_of_recipes(const Taken& taken) {
  std::vector<Argument>& arguments = taken.arguments;
  const auto all = whole_of(value_of(arguments, kRecipesBatch)),
             part = whole_of(value_of(arguments, "micro-batch-size"));
  constexpr Renamed kNew[] = {{kRecipesBatch, "per-device-train-batch-size"}};
  constexpr Renamed kOld[] = {{"micro-batch-size", "per-device-train-batch-size"}};
  if (part && *part > 0) {
    taken.rename(kOld);
    if (all && *all >= *part) arguments.push_back({"gradient-accumulation-steps", {std::to_string(*all / *part)}, ""});
    std::erase_if(arguments, [](const Argument& one) { return one.name == kRecipesBatch; });
  } else if (last_of(arguments, kRecipesBatch) != nullptr) {
    taken.rename(kNew);
  } else {
    taken.add_default("per-device-train-batch-size", {"4"});
  }
}

// Source: llama_recipes/finetuning.py, where pure_bf16 turns the weights into bf16 before FSDP shards them.
void take_precision_of_recipes(const Taken& taken) {
  std::vector<Argument>& arguments = taken.arguments;
  constexpr const char *kPure = "pure-bf16", *kOfSection = "fsdp-config.pure-bf16";
  const bool half = is_on(arguments, "use-fp16"), pure = is_on(arguments, kPure) || is_on(arguments, kOfSection);
  std::erase_if(arguments, [&](const Argument& one) { return one.name == kPure || one.name == kOfSection; });
  if (half)
    arguments.push_back({"fp16", {}, ""});
  else if (pure)
    arguments.push_back({is_on(arguments, "enable-fsdp") ? kPure : "bf16", {}, ""});
  else
    taken.add_default("bf16", {});
}

void take_llama_recipes(const Taken& taken) {
  std::vector<Argument>& arguments = taken.arguments;
  taken.origins.program = "llama-recipes";
  take_batch_of_recipes(taken);
  constexpr Renamed kRecipesNames[] = {{"context-length", "max-seq-length"},
                                       {"lora-config.r", "lora-r"},
                                       {"fsdp-activation-checkpointing", "fsdp-config.fsdp-activation-checkpointing"}};
  taken.rename(kRecipesNames);
  const bool sharded = is_on(arguments, "enable-fsdp"), moved = is_on(arguments, "fsdp-cpu-offload");
  const Argument* const recomputed = last_of(arguments, "fsdp-config.fsdp-activation-checkpointing");
  if (sharded) arguments.push_back({"fsdp", {moved ? "full_shard offload" : "full_shard"}, ""});
  if (sharded && recomputed == nullptr)
    taken.add_default("gradient-checkpointing", {});
  else if (sharded && is_on(arguments, recomputed->name))
    arguments.push_back({"gradient-checkpointing", {}, ""});
  if (is_on(arguments, "quantization")) {
    const bool four = value_of(arguments, "quantization").starts_with("4");
    arguments.push_back({four ? "load-in-4bit" : "load-in-8bit", {}, ""});
    // Source: peft/utils/other.py, prepare_model_for_kbit_training, which recomputes unless told otherwise.
    taken.add_default("gradient-checkpointing", {});
  }
  take_precision_of_recipes(taken);
  // Source: llama_recipes/configs/peft.py, lora_config.
  if (is_on(arguments, "use-peft")) {
    taken.add_default("lora-r", {"8"});
    taken.add_default("target-modules", {"q_proj,v_proj"});
  }
  constexpr std::string_view kRead[] = {"enable-fsdp",
                                        "fsdp-cpu-offload",
                                        "quantization",
                                        "use-fp16",
                                        "mixed-precision",
                                        "low-cpu-fsdp",
                                        "use-fast-kernels",
                                        "val-batch-size",
                                        "peft-method",
                                        "batching-strategy",
                                        "one-gpu",
                                        "fsdp-config.fsdp-activation-checkpointing",
                                        "dist-checkpoint-root-folder",
                                        "dist-checkpoint-folder"};
  std::erase_if(arguments, [&](const Argument& one) { return std::ranges::find(kRead, one.name) != std::end(kRead); });
}

bool is_qlora(const std::vector<std::string>& program) {
  return !program.empty() && std::filesystem::path(program.front()).filename() == "qlora.py";
}

// artidoro/qlora, qlora.py at 00e5ad2, TrainingArguments: one sequence in 16 passes, paged AdamW, recomputing; beside
// adapters rank 64, all products and weights of 4 bits.
void add_defaults_of_qlora(const Taken& taken) {
  const std::vector<Argument>& arguments = taken.arguments;
  taken.origins.program = "qlora.py";
  constexpr Renamed kDefaults[] = {{"per-device-train-batch-size", "1"},
                                   {"gradient-checkpointing", "true"},
                                   {"optim", "paged_adamw_32bit"},
                                   {"gradient-accumulation-steps", "16"}};
  for (const auto& [name, value] : kDefaults) taken.add_default(name, {value});
  constexpr Renamed kAdapters[] = {{"lora-r", "64"},
                                   {"lora-target-modules", "all"},  // find_all_linear_names
                                   {"bits", "4"}};
  const bool whole = is_on(arguments, "full-finetune");
  for (const auto& [name, value] : kAdapters)
    if (!whole) taken.add_default(name, {value});
  constexpr Renamed kLengths[] = {{"source-max-len", "1024"}, {"target-max-len", "256"}};
  const bool stated = std::ranges::any_of(std::array{"max-length", "max-seq-length", "model-max-length"},
                                          [&](const char* name) { return last_of(arguments, name) != nullptr; });
  for (const auto& [name, value] : kLengths)
    if (!stated) taken.add_default(name, {value});
}

// tloen/alpaca-lora, finetune.py, and programs made after it: a batch of all GPUs, in micro-batches.
bool is_alpaca_lora(const std::vector<Argument>& arguments) {
  const auto has = [&](const char* name) { return last_of(arguments, name) != nullptr; };
  // Programs that train whole models share --base_model and --micro_batch_size with it.
  const bool other = std::ranges::any_of(std::array{"num-layers", "global-batch-size", "seq-length"}, has);
  return has("base-model") && !other &&
         std::ranges::any_of(std::array{"micro-batch-size", "cutoff-len", "lora-target-modules"}, has);
}

void take_alpaca_lora(const Taken& taken) {
  taken.origins.program = "alpaca-lora";
  constexpr Renamed kAlpacaNames[] = {{"micro-batch-size", "per-device-train-batch-size"},
                                      {"batch-size", "global-train-batch-size"},
                                      {"num-epochs", "num-train-epochs"}};
  taken.rename(kAlpacaNames);
  constexpr Renamed kDefaults[] = {{"per-device-train-batch-size", "4"},
                                   {"global-train-batch-size", "128"},
                                   {"cutoff-len", "256"},
                                   {"lora-r", "8"},
                                   {"lora-target-modules", "q_proj,v_proj"},
                                   {"gradient-checkpointing", "true"},
                                   {"fp16", "true"}};
  for (const auto& [name, value] : kDefaults) taken.add_default(name, {value});
  const auto narrow = [&](const Argument& one) {
    return switches_to_bits(one.name, 4) && is_on(taken.arguments, one.name);
  };
  if (std::ranges::none_of(taken.arguments, narrow)) taken.add_default("load-in-8bit", {"true"});
}

// unslothai/unsloth, unsloth-cli.py: --r is the rank beside --lora_alpha, and adapters stand beside all products.
constexpr Renamed kRankOfUnsloth[] = {{"r", "lora-r"}};

void take_unsloth(const std::vector<std::string>& program, const Taken& taken) {
  if (last_of(taken.arguments, "lora-alpha") == nullptr) return;
  taken.rename(kRankOfUnsloth);
  if (program.empty() || std::filesystem::path(program.front()).filename() != "unsloth-cli.py") return;
  taken.origins.program = "unsloth-cli.py";
  taken.add_default("lora-target-modules", {"all"});
}

// Until version 4.0 the Trainer's batch was per_gpu_train_batch_size: transformers, training_args.py.
bool is_old_trainer(const std::vector<Argument>& arguments) {
  return last_of(arguments, kOldBatch) != nullptr && last_of(arguments, "model-name-or-path") != nullptr;
}

void take_old_trainer(const Taken& taken) {
  constexpr Renamed kOld[] = {{kOldBatch, "per-device-train-batch-size"},
                              {"per-gpu-eval-batch-size", "per-device-eval-batch-size"}};
  taken.rename(kOld);
}

// A program that is called after QLoRA: its frozen weights have 4 bits unless it states others.
void take_name_of_qlora(const std::vector<std::string>& program, const Taken& taken) {
  const std::string file = std::filesystem::path(program.front()).filename().string();
  const auto words = words_of_name(std::filesystem::path(file).stem().string());
  const bool stated =
      std::ranges::any_of(std::array{"bits", "quantization-bit", "full-finetune"},
                          [&](const char* name) { return last_of(taken.arguments, name) != nullptr; }) ||
      std::ranges::any_of(taken.arguments, [](const Argument& one) {
        return switches_to_bits(one.name, 4) || switches_to_bits(one.name, 8);
      });
  if (stated || std::ranges::find(words, "qlora") == words.end() || last_of(taken.arguments, "lora-r") == nullptr)
    return;
  taken.origins.program = printable(file, 60) + ", by its name";
  taken.add_default("load-in-4bit", {"true"});
}

// Source: huggingface/trl, trl/trainer/model_config.py, lora_r of ModelConfig.
void take_program_of_trl(const Taken& taken) {
  taken.origins.program = "TRL";
  if (is_on(taken.arguments, "use-peft")) taken.add_default("lora-r", {"16"});
}

// LMFlow: a command of examples/finetune.py with its data set and LoRA, or one with a flag of its own.
bool is_lmflow(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  const auto has = [&](const char* name) { return last_of(arguments, name) != nullptr; };
  const bool example = program.front().ends_with("examples/finetune.py") && has("dataset-path");
  return is_on(arguments, "use-lora") && (example || has("save-aggregated-lora"));
}

// OptimalScale/LMFlow, src/lmflow/models/hf_decoder_model.py (2023) and hf_model_mixin.py: products that no flag names
// are PEFT's of the model's type (peft/utils/constants.py). Most types have q_proj and v_proj, OPT and Llama among
// them.
void take_lmflow(const Taken& taken) {
  taken.origins.program = "LMFlow, which leaves the products to PEFT";
  const std::string model = lower_case(value_of(taken.arguments, "model-name-or-path"));
  constexpr std::string_view kFused[] = {"pythia", "neox", "bloom", "falcon", "chatglm"};
  const bool fused = std::ranges::any_of(kFused, [&](std::string_view word) { return model.find(word) != model.npos; });
  const bool attn = model.find("gpt2") != model.npos;
  taken.add_default("lora-target-modules", {fused ? "query_key_value" : attn ? "c_attn" : "q_proj,v_proj"});
}

// The defaults of DeepSpeed-Chat's first step: DeepSpeedExamples, applications/DeepSpeed-Chat,
// training/step1_supervised_finetuning/main.py.
void take_deepspeed_chat(const Taken& taken) {
  taken.origins.program = "DeepSpeed-Chat";
  constexpr Renamed kLength[] = {{"max-seq-len", "max-seq-length"}};
  taken.rename(kLength);
  taken.add_default("per-device-train-batch-size", {"16"});
  taken.add_default("max-seq-length", {"512"});
}

bool is_deepspeed_chat(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  const Argument* const bare = last_of(arguments, "deepspeed");
  return std::filesystem::path(program.front()).filename() == "main.py" && bare != nullptr && bare->values.empty() &&
         last_of(arguments, "zero-stage") != nullptr;
}

// Returns true for a program that is called as those of OpenRLHF: openrlhf.cli.train_sft, my/train_sft.py.
bool is_called_as_rlhf(const std::vector<std::string>& program) {
  constexpr std::string_view kTrained = " sft rm prm dpo kto kd ppo ";  // openrlhf/cli/train_*.py
  const std::string file = program.empty() ? "" : lower_case(program.front());
  const auto words = words_of_name(file);
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i - 1] == "train" && holds_word(kTrained, words[i])) return true;
  return file.find("openrlhf") != file.npos;
}

bool is_open_rlhf(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  const bool bare = last_of(arguments, "pretrain") != nullptr && is_called_as_rlhf(program) &&
                    last_of(arguments, "per-device-train-batch-size") == nullptr &&
                    last_of(arguments, "strategy") == nullptr &&  // of ColossalAI's chat programs
                    (last_of(arguments, "max-len") != nullptr || last_of(arguments, "input-key") != nullptr);
  return last_of(arguments, kRlhfBatch) != nullptr || has_groups(arguments) || bare;
}

bool is_llama_recipes(const std::vector<Argument>& arguments) {
  if (last_of(arguments, "per-device-train-batch-size") != nullptr) return false;
  const bool named = last_of(arguments, "model-name") != nullptr;
  return named && (last_of(arguments, kRecipesBatch) != nullptr || last_of(arguments, "enable-fsdp") != nullptr ||
                   (last_of(arguments, "peft-method") != nullptr && last_of(arguments, "use-peft") != nullptr));
}

}  // namespace

bool is_other_program(const std::vector<std::string>& program, const std::vector<Argument>& arguments) {
  return is_open_rlhf(program, arguments) || is_llama_recipes(arguments) || is_alpaca_lora(arguments) ||
         is_old_trainer(arguments) || is_own_program(arguments) ||
         (is_qlora(program) && last_of(arguments, "model-name-or-path") != nullptr);  // its batch has a default
}

Origins take_names_of_trainer(const std::vector<std::string>& program, std::vector<Argument>& arguments,
                              Report& report) {
  Origins origins;
  const Taken taken{arguments, origins};
  if (is_qlora(program)) add_defaults_of_qlora(taken);
  if (is_old_trainer(arguments)) take_old_trainer(taken);
  take_unsloth(program, taken);
  if (origins.program.empty() && !program.empty()) take_name_of_qlora(program, taken);
  if (!program.empty()) take_chat_program(program, taken);
  if (!program.empty() && is_program_of_trl(program)) take_program_of_trl(taken);
  if (!program.empty() && is_lmflow(program, arguments)) take_lmflow(taken);
  if (is_open_rlhf(program, arguments))
    take_open_rlhf(taken);
  else if (is_llama_recipes(arguments))
    take_llama_recipes(taken);
  else if (last_of(arguments, "per-device-train-batch-size") == nullptr && is_alpaca_lora(arguments))
    take_alpaca_lora(taken);
  else if (!program.empty() && is_deepspeed_chat(program, arguments))
    take_deepspeed_chat(taken);
  else if (last_of(arguments, "per-device-train-batch-size") == nullptr && is_own_program(arguments))
    take_own_names(arguments, origins, report);
  return origins;
}

void name_origins(const Origins& origins, Report& report) {
  const auto key_of = [](std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
  };
  for (const auto& [one, own] : origins.defaults) {
    const std::string& program = own.empty() ? origins.program : own;
    const std::string name = key_of(one.name);
    std::vector<std::string> keys;
    for (const Mapped& mapped : report.mapped)
      if (mapped.from == name) keys.push_back(mapped.key);
    for (const std::string& key : keys) report.assume(key, report.at(key), "the default of " + program);
    if (keys.empty() && !one.values.empty())
      report.approximate(name, one.values.front() + " is the default of " + program);
  }
  const auto take_own = [&](std::string& key) {
    const auto own = std::ranges::find(origins.names, key, [&](const auto& one) { return key_of(one.first); });
    if (own != origins.names.end()) key = key_of(own->second);
  };
  for (Mapped& mapped : report.mapped) take_own(mapped.from);
  for (Assumed& assumed : report.assumed) take_own(assumed.key);
  for (Refused& refused : report.refused) take_own(refused.setting);
}

}  // namespace foretoken::io::launch::tuning

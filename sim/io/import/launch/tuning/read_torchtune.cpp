// Makes a scenario of a torchtune recipe.
//
// Names and defaults: pytorch/torchtune, recipes/configs and
// recipes/{full,lora}_finetune_{distributed,single_device}.py.
#include <set>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/torchtune_model.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr KeyRule kTorchtuneKeys[] = {
    {"model.encoder_trainable model.fusion_trainable model.decoder_trainable model.image_* tokenizer.image_*",
     "a multimodal model", true},
    {"quantizer.* fake_quant*", "QAT: fake quantisation in training", true},
    {"ref_model.* ref_checkpointer.* reward_* policy_* value_* ppo_* grpo_*",
     "a reference or reward model runs as well", true},
    {"teacher_model.* teacher_checkpointer.* kd_*", "distillation: a second model runs", true},
    {"tensor_parallel_dim context_parallel_dim tensor_parallel_plan.* data_parallel_replicate_dim",
     "it cuts the model in other ways", true},
    {"custom_sharded_layers fsdp_* loss.* optimizer.fused compile.*", "kernels are fused as the runtime has them"},
    {"enable_fp8_training", "products in fp8 of torchtune are not modelled", true},
    {"fp8_recipe_name", "it counts with enable_fp8_training only"},
    {"data_parallel_shard_dim", "weights are sharded over all data ranks"},
    {"ac_mode ac_option", "enable_activation_checkpointing decides about recomputation"},
    {"dataloader.* num_workers cudnn_deterministic_mode enable_async_checkpointing memory_efficient_fsdp_wrap "
     "model_checkpoint lora_checkpoint"},
    {"model.use_dora", kDora, true},
    {kNoEffectKeys}};

// Sections whose component makes a dataset, such as the validation of a recipe of one's own.
void leave_out_datasets(Json& recipe, Report& report) {
  std::vector<std::string> others;
  for (const auto& [name, section] : recipe.items()) {
    if (name == "dataset" || !section.is_object() || !section.contains("_component_")) continue;
    const Json& component = section.at("_component_");
    if (component.is_string() && component.get<std::string>().find(".datasets.") != std::string::npos)
      others.push_back(name);
  }
  for (const std::string& name : others) {
    recipe.erase(name);
    report.ignore("[" + printable(name, 60) + "]", "");
  }
}

std::string last_part(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

// A comment of the recipe: "tune run --nproc_per_node 4 --config ...".
std::optional<std::int64_t> gpus_in_comments(std::string_view text) {
  for (const std::string_view flag :
       {"--nproc_per_node ", "--nproc-per-node ", "--nproc_per_node=", "--nproc-per-node="}) {
    const std::size_t at = text.find(flag);
    if (at == text.npos) continue;
    const std::string_view rest = text.substr(at + flag.size());
    return whole_of(rest.substr(0, rest.find_first_not_of("0123456789")));
  }
  return std::nullopt;
}

bool single_device(std::string_view text) {
  return text.find("single_device") != text.npos || text.find("single device") != text.npos;
}

/// Keys of adapters, which the first recipes have beside the model.
constexpr const char* kAdapterKeys[] = {"lora_rank",         "lora_alpha",           "lora_attn_modules",
                                        "apply_lora_to_mlp", "apply_lora_to_output", "lora_dropout",
                                        "quantize_base"};

// The first recipes name their parts without _component_: model: lora_llama2_7b, tokenizer: llama2_tokenizer
// (recipes/configs/alpaca_llama2_lora_finetune.yaml of February 2024; autocast: recipes/lora_finetune.py).
bool is_first_recipe(const Json& document) {
  const auto text = [&](const char* key) {
    const auto found = document.find(key);
    return found != document.end() && found->is_string() ? found->get<std::string>() : "";
  };
  return document.is_object() && !text("model").empty() && text("tokenizer").ends_with("_tokenizer") &&
         (document.contains("model_checkpoint") || document.contains("tokenizer_checkpoint"));
}

void add_components(Json& recipe) {
  for (const char* part : {"model", "tokenizer", "dataset", "optimizer", "loss"}) {
    const auto found = recipe.find(part);
    if (found == recipe.end() || !found->is_string()) continue;
    Json section = Json::object();
    section["_component_"] = *found;
    *found = std::move(section);
  }
  for (const char* key : kAdapterKeys)
    if (const auto found = recipe.find(key); found != recipe.end()) {
      recipe["model"][key] = *found;
      recipe.erase(key);
    }
}

// Returns the recipe of the first "tune run" in the file or its comments: "tune run --nproc_per_node 4
// lora_finetune_distributed --config ..."; empty for none. Words about other recipes in comments say nothing.
std::string started_recipe(std::string_view text) {
  constexpr std::string_view kStart = "tune run ";
  const std::size_t at = text.find(kStart);
  if (at == text.npos) return "";
  const std::string_view rest = text.substr(at + kStart.size());
  return std::string(rest.substr(0, std::min(rest.find("--config"), rest.find('\n'))));
}

// Names of recipes: recipes/{lora,full}_dpo_*.py, recipes/ppo_full_finetune_*.py, recipes/dev/grpo_*.py,
// recipes/knowledge_distillation_*.py and recipes/qat_*.py. Without a recipe the keys decide.
void refuse_other_recipes(const Settings& settings, std::string_view text, Report& report) {
  const std::string recipe = started_recipe(text);
  for (const char* word : {"dpo", "ppo", "grpo", "knowledge_distillation"})
    if (recipe.find(word) != recipe.npos)
      return report.refuse(word, "not plain training: a reference, reward or teacher model runs as well");
  if (recipe.find("qat_") != recipe.npos) report.refuse("QAT", "fake quantisation in training");
  const std::string loss = settings.text({"loss._component_"}).value_or("");
  if (loss.find("DPO") != loss.npos || loss.find("RSO") != loss.npos)
    report.refuse("loss", "dpo: a reference model runs as well");
  else if (loss.find('.') != loss.npos && !loss.starts_with("torch.") && !loss.starts_with("torchtune."))
    report.refuse("loss._component_", in_quotes(printable(loss, 60)) +
                                          " is a loss of the user's own, whose work and "
                                          "memory are not known");
}

// Builders without lora_ in front take none of the keys of adapters, and the tool stops over them:
// torchtune/models/llama3_2/_model_builders.py, llama3_2_3b(). kDora refuses DoRA.
void refuse_unused_adapter(const Settings& settings, const std::string& builder, Report& report) {
  for (const char* key : kAdapterKeys)
    if (const std::string name = std::string("model.") + key; settings.has({name}))
      return report.refuse(name, "the builder " + in_quotes(builder) + " takes no key of LoRA: name lora_" +
                                     printable(builder, 80) + ", or allow it to train the whole model");
}

void map_torchtune_method(const Settings& settings, const std::string& builder, Report& report) {
  const bool quantised = builder.starts_with("qlora") || settings.on({"model.quantize_base"});
  const auto rank = settings.whole({"model.lora_rank"});
  std::string targets = settings.text({"model.lora_attn_modules"}).value_or("");
  if (settings.on({"model.apply_lora_to_mlp"})) targets += " mlp";
  if (settings.on({"model.apply_lora_to_output"})) targets += " output";
  if (!builder.starts_with("lora") && !builder.starts_with("qlora"))
    return refuse_unused_adapter(settings, builder, report);
  map_adapter({.method = quantised ? "qlora" : "lora",
               .from = "model._component_",
               .rank = rank,
               .targets = targets,
               .base_bits = quantised ? 4 : 16,
               .runtime = "torchtune"},
              report);
}

// The library counts, too: bitsandbytes.optim.AdamW has states of 32 bits, torch.optim.AdamW those of the weights.
std::string optimizer_of(const std::string& component) {
  return component.starts_with("bitsandbytes.") ? component : last_part(component);
}

// Recipes of one's own name several optimizers, of which optimizer_name chooses one.
void map_torchtune_optimizer(const Settings& settings, Report& report) {
  if (const auto name = settings.text({"optimizer._component_"}))
    return map_optimizer_name(optimizer_of(*name), "optimizer._component_", report);
  const auto chosen = settings.text({"optimizer_name", "optimizer.name"});
  const std::string key = "optimizer." + chosen.value_or("") + "._component_";
  if (const auto name = chosen ? settings.text({key}) : std::nullopt)
    return map_optimizer_name(optimizer_of(*name), key, report);
  const auto sections = settings.document().find("optimizer");
  const bool several = sections != settings.document().end() && sections->is_object() && !sections->empty();
  if (several || chosen)
    report.refuse("optimizer", "no optimizer._component_ names the optimizer; allowed, it is Adam");
}

void map_torchtune_memory(const Settings& settings, bool single, Report& report) {
  report.map("recompute.granularity", settings.on({"enable_activation_checkpointing"}) ? "full" : "none",
             "enable_activation_checkpointing");
  if (settings.on({"enable_activation_offloading"}))
    map_offload("activations", "cpu", "enable_activation_offloading", report);
  const Names kMoved = {"fsdp_cpu_offload", "fsdp.cpu_offload"};
  if (settings.on(kMoved)) map_offload("parameters", "cpu", settings.from(kMoved), report);
  if (settings.on({"optimizer_in_bwd"}))
    report.approximate("optimizer_in_bwd", "all gradients are kept until the step's end");
  map_torchtune_optimizer(settings, report);
  const Names kSharded = {"enable_fsdp"};
  if (settings.has(kSharded) && !settings.on(kSharded))
    map_sharding(0, "enable_fsdp", report);
  else
    map_sharding(single ? 0 : 3, single ? "a recipe of one device" : "FSDP shards weights, gradients and states",
                 report);
  // A mapping states parts: recipes/full_finetune_distributed.py, whose default of its `model` is true.
  const bool parts = settings.has({"compile.model"});
  report.map("compile", settings.on({parts ? "compile.model" : "compile"}), parts ? "compile.model" : "compile");
}

}  // namespace

bool is_torchtune(const Json& document) {
  if (is_first_recipe(document)) return true;
  const auto has = [&](const char* section) {
    return document.is_object() && document.contains(section) && document.at(section).is_object() &&
           document.at(section).contains("_component_");
  };
  return has("model") && (has("tokenizer") || has("optimizer"));
}

void read_torchtune(const Json& document, std::string_view text, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "torchtune";
  Json resolved = document;
  const std::set<std::string> variables = resolve_references(resolved);
  const bool first = is_first_recipe(resolved);
  if (first) add_components(resolved);
  leave_out_datasets(resolved, report);
  const Settings settings(std::move(resolved), report);
  const std::string builder = last_part(settings.text({"model._component_"}).value_or(""));
  refuse_other_recipes(settings, text, report);
  map_torchtune_model(settings, builder, report);
  refuse_other_device(settings, report);
  // Up to 0.2 the dataset cut the sequences: torchtune/datasets/_instruct.py.
  if (!settings.map_whole({"tokenizer.max_seq_len", "dataset.max_seq_len"}, "batch.sequence_length"))
    report.ask("batch.sequence_length", "no tokenizer.max_seq_len: sequences are as long as the data; state --seq N");
  const auto distributed = gpus_in_comments(text);
  const bool single = !distributed && single_device(text);
  const auto said = single ? std::optional<std::int64_t>(1) : distributed;
  if (!gpus) gpus = said;
  if (gpus) report.map("gpus", *gpus, single ? "a recipe of one device" : "the comments of the recipe");
  map_data_batch(
      {settings.whole({"batch_size"}), settings.whole({"gradient_accumulation_steps"}).value_or(1), {}, "batch_size"},
      gpus, 1, report);
  const std::string type = settings.text({"dtype"}).value_or("bf16");
  const bool narrow = type == "bf16" || type == "fp16";
  if (narrow && first)
    report.refuse("dtype",
                  "the first recipes cast weights of fp32 by autocast, which is not modelled beside torchtune");
  // pytorch/torchtune 00360f72, recipes/lora_finetune_distributed.py and all the others.
  if (type == "fp16" && !first)
    report.refuse("dtype", "torchtune's recipes stop at fp16: full fp16 training is not supported");
  if (narrow || type == "fp32")
    report.map("precision", type, "dtype");
  else
    report.refuse("dtype", "no profile has products of " + in_quotes(type));
  map_torchtune_memory(settings, single, report);
  map_torchtune_method(settings, builder, report);
  // Weights have the type of dtype, sharded or not: torchtune, recipes/full_finetune_*.py, set_default_dtype.
  if (narrow) map_weights_of_16_bits("dtype", report);
  if (settings.whole({"tensor_parallel_dim"}).value_or(1) == 1)
    (void)settings.at("tensor_parallel_plan");  // it counts from two ranks on
  else
    report.refuse("tensor_parallel_dim", "it cuts the model in other ways");
  if (!settings.on({"dataset.packed"})) report.approximate("dataset.packed", kNotPacked);
  settings.ignore_variables(variables, kTorchtuneKeys);
  settings.sort_rest(kTorchtuneKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::tuning

// Makes a scenario of arguments of Hugging Face's Trainer.
//
// Names and defaults: huggingface/transformers, src/transformers/training_args.py; hiyouga/LLaMA-Factory,
// src/llamafactory/hparams; huggingface/trl, trl/trainer.
#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/stage_names.h"
#include "sim/io/import/launch/tuning/chat_lora.h"
#include "sim/io/import/launch/tuning/frozen_weights.h"
#include "sim/io/import/launch/tuning/model_from_scratch.h"
#include "sim/io/import/launch/tuning/other_methods.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/staged_program.h"
#include "sim/io/import/launch/tuning/trainer_precision.h"
#include "sim/io/import/launch/tuning/trainer_sharding.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"
#include "sim/io/model/model_purpose.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr KeyRule kTrainerKeys[] = {
    {"freeze_vit freeze_aligner", kMultimodal, true},
    {"freeze_vision_tower freeze_multi_modal_projector freeze_language_model",
     "it counts for multimodal models only; files with every argument hold it"},
    {"use_kt kt_*", "experts on the CPU (KTransformers)", true},
    {"use_galore galore_* use_apollo apollo_* use_badam badam_* use_muon use_adam_mini use_llama_pro "
     "optim_target_modules",
     "an optimizer with other costs and memory", true},
    {"modules_to_save* lora_modules_to_save* additional_target", "weights that train whole beside the adapter", true},
    {"use_dora dora peft_use_dora lora_dora", kDora, true},
    {"layers_to_transform layers_pattern rank_pattern alpha_pattern lora_layers*", "adapters in some layers only",
     true},
    {"acceleration_framework_config_file", "plugins of fms-acceleration, which change kernels, experts or weights",
     true},
    {"auto_find_batch_size", "the batch is searched for at the start", true},
    {"fp8", "products in fp8 of this tool are not modelled", true},
    {"fp8_backend fp8_enable_fsdp_float8_all_gather", "it counts beside fp8 only"},
    {"oft_*", "it counts for finetuning_type oft only; files with every argument hold it"},
    {"train_from_scratch", "it may count on other initial weights"},
    {"disable_dropout dropout", "dropout is small beside the products"},
    {"upcast_layernorm upcast_lmhead_output", "norms and the head run in the precision of the model"},
    {"quantization_type", "the type of 4-bit weights is NF4"},
    {"train_mm_proj_only tune_mm_mlp_adapter freeze_mm_mlp_adapter pretrain_mm_mlp_adapter vision_tower mm_projector* "
     "mm_vision* image_folder image_tower",
     kMultimodal, true},
    {"quantization_bit* use_unsloth* shift_attn mixture_of_depths use_mod", "kernels or layers of its own", true},
    {"config config_file config_path", "its file may hold further arguments", true},
    {"use_unsloth_gc enable_liger_kernel flash_attn use_flash_attn* use_flash_attention* use_liger* torch_compile* "
     "optim_args "
     "attn_implementation attn_impl attention_implementation attention_impl attn_backend attention_backend attn "
     "no_fused_kernels torch_dtype",
     "kernels are fused as the runtime has them"},
    {"packing packing_method packing_strategy neat_packing pack_sequences packed_sequences use_packing group_by_length "
     "padding_free "
     "pad_to_multiple_of disable_group_texts",
     "sequences are taken as whole ones"},
    {"bnb_4bit_*", "products of 4-bit weights are computed as the runtime does it"},
    {"ds_tensor_parallel_size tensor_parallel_size sequence_parallel_size sequence_parallel_mode alst_* parallel_mode",
     "it cuts the model in other ways", true},
    {"zpg", "a second copy of the weights on each node (ZeRO++)", true},
    {"ds.deepcompile", "a compiler that moves the communication", true},
    {"ds.grad_accum_dtype grad_accum_dtype ds.overlap_comm ds.experts_implementation",
     "kernels and gradients are those of the runtime"},
    // OpenRLHF's groups.
    {"ckpt.* logger.* eval.* adam.* data.dataset* data.input_key data.output_key data.prompt_key data.label_key "
     "data.apply_chat_template data.max_samples "
     "data.input_template data.tokenizer_chat_template data.disable_fast_tokenizer data.dataloader_num_workers "
     "data.multiturn train.max_epochs train.seed train.full_determinism_enable model.gradient_checkpointing_reentrant "
     "model.aux_loss_coef ds.ring_attn_head_stride ring_head_stride ds.lora.alpha ds.lora.dropout "
     "ds.use_universal_ckpt"},
    {"line_by_line mlm_probability"},  // every token has its logits, masked or not
    {"fsdp_config", "only its recomputation is read, from the file that a script names"},
    {kFsdpKeysWithoutEffect},
    {kNoEffectKeys}};

constexpr std::string_view kModelKeys[] = {"model_name_or_path",
                                           "model_name",
                                           "model_id",
                                           "model_path",
                                           "base_model",
                                           "pretrained_model_name_or_path",
                                           "pretrained_model_path",
                                           "pretrained_model",
                                           "pretrain",
                                           "base_model_name_or_path",
                                           "llm_path",
                                           "input_model",
                                           "model"};

void refuse_other_stages(const Settings& settings, Report& report) {
  const std::string named = settings.text({"stage"}).value_or("sft");
  const std::string stage = plain_stage(named);
  if (stage != named)
    report.approximate("stage",
                       in_quotes(named) + " is a stage of the program's own; by its name it trains as " + stage);
  if (stage != "sft" && stage != "pt")
    report.refuse("stage " + printable(stage, 20), "preference, reward or RL stage, not plain training", "stage");
  const auto stands = [&](const char* key) { return settings.document().contains(key); };
  if (stands("export_dir") && !stands("per_device_train_batch_size") && !stands("learning_rate") &&
      !settings.on({"do_train"}))
    report.refuse("export_dir", "adapters are merged into the weights, and nothing trains");
  const std::string kind = settings.text({"finetuning_type"}).value_or("");
  if (!kind.empty() && kind != "lora" && kind != "full" && kind != "none")
    report.refuse("finetuning_type " + printable(kind, 40), "other weights train than with LoRA", "finetuning_type");
  for (const std::string_view key : kModelKeys) {
    const std::string model = settings.text({key}).value_or("");
    const std::string_view other = model_of_name(model) ? "" : other_purpose_of(model);
    if (!other.empty()) report.refuse(std::string(key), std::string(other) + ": not a language model");
  }
  // 0 is a number of such a model, too: DeepSpeed-Chat's second step.
  if (settings.has({"num_padding_at_beginning"}))
    report.refuse("num_padding_at_beginning", "a reward model, not plain training");
  if (const std::string task = settings.text({"lora_task_type"}).value_or(""); !task.empty() && task != "CAUSAL_LM")
    report.refuse("lora_task_type " + printable(task, 40), "not a language model", "lora_task_type");
  // TRL's plain losses of SFT: trl/trainer/sft_config.py.
  const std::string loss = settings.text({"loss_type"}).value_or("");
  if (loss == "nll" || loss == "dft" || loss == "chunked_nll") return;
  for (const char* key : {"beta", "loss_type", "pref_beta", "pref_loss", "reward_funcs", "num_generations"})
    if (settings.has({key}) && stage == "sft" && !settings.has({"finetuning_type"}))
      return report.refuse(key, "preferences or reinforcement (DPO, KTO, ORPO, GRPO), not plain training");
}

// Older scripts limit the question and the answer each.
void map_length(const Settings& settings, Report& report) {
  const Names limits = {"cutoff_len", "max_seq_length", "max_length",    "model_max_length",
                        "block_size", "max_len",        "context_length"};
  if (const auto length = settings.whole(limits); length && *length < 1)
    return report.ask("batch.sequence_length",
                      settings.from(limits) + " " + std::to_string(*length) + " is no limit; state --seq N");
  if (settings.map_whole(limits, "batch.sequence_length")) return;
  const auto source = settings.whole({"max_source_length", "source_max_len"}),
             target = settings.whole({"max_target_length", "target_max_len"});
  constexpr std::int64_t kLongest = 1 << 30;
  if (source && target && *source > 0 && *target > 0 && *source < kLongest && *target < kLongest)
    return report.map("batch.sequence_length", *source + *target, "max_source_length + max_target_length");
  report.ask("batch.sequence_length", "the arguments state no length of sequences; state --seq N");
}

constexpr const char* kOwnRank =
    "no flag states the rank of the adapters, and the program decides; state --set training.rank=N";

// Returns why the products beside which adapters stand are assumed; empty where they are stated or asked for.
std::string why_targets(bool stated, bool factory, bool of_peft) {
  if (stated) return "";
  if (factory) return "all linear products by default";
  return of_peft ? "PEFT's default" : "";
}

// Scripts of LLaVA's and Alpaca's kind state a rank beside a switch that is off.
std::string switch_key(const Settings& settings) {
  return settings.from({"use_peft", "use_peft_lora", "use_lora", "lora_enable", "enable_lora", "lora", "peft"});
}

// Returns the key that turns adapters on beside the Trainer's own arguments; empty where none does.
std::string peft_key(const Settings& settings) {
  const std::string narrow = narrow_key(settings), switched = switch_key(settings);
  const std::string plain = settings.from({"peft_method", "lora_r"});
  const bool whole = settings.on({"full_finetune"});
  (void)settings.at("peft_method");
  if (whole) return "";
  if (!narrow.empty()) return narrow;
  if (switched.empty()) return plain;
  return settings.on({switched}) ? switched : "";
}

/// Names of the list of modules that train whole beside adapters.
const Names kWhole = {"modules_to_save", "lora_modules_to_save", "additional_target"};

// Full fine-tuning reads no such list. Where nothing tells the method, a rule refuses the list.
void ignore_whole(const Settings& settings, bool method_is_stated, Report& report) {
  if (!method_is_stated) return;
  const std::string key = settings.from(kWhole);
  if (!key.empty()) report.ignore(key, "");
}

/// A list of modules, and the setting that states it.
struct Stated {
  std::string value, from;
};

// LLaMA-Factory adds embedding and head where it makes room for new tokens: hiyouga/LLaMA-Factory 99e0c3e,
// src/llamafactory/model/adapter.py, _setup_lora_tuning.
Stated whole_of_trainer(const Settings& settings, bool factory) {
  constexpr const char* kRoom = "resize_vocab";
  if (const auto stated = settings.text(kWhole)) return {*stated, settings.from(kWhole)};
  return factory && settings.on({kRoom}) ? Stated{"embed_tokens,lm_head", kRoom} : Stated{};
}

void map_trainer_method(const Settings& settings, Report& report) {
  const auto kind = settings.text({"finetuning_type"});
  const std::string peft = peft_key(settings);
  // Beside these lora_dim is a plain rank: DeepSpeed-Chat has neither.
  const bool plain = settings.has({"lora_alpha"}) || settings.has({"lora_dropout"});
  const auto type = settings.has({"lora_dim"}) && plain && !settings.has({"peft_type"})
                        ? std::optional<std::string>("lora")
                        : settings.text({"peft_type"});
  const Names kRanks = {"lora_rank", "lora_r"}, kTypedRanks = {"lora_rank", "lora_r", "lora_dim"};
  const Names ranks = type ? kTypedRanks : kRanks;
  const auto rank = settings.whole(ranks);
  const FrozenWeights frozen = frozen_weights_of(settings, kModelKeys);
  // Any text may stand behind --trainable; names of products are those of the adapters (Chinese-LLaMA-Alpaca).
  const bool products = settings.text({"trainable"}).value_or("").find("_proj") != std::string::npos;
  const Names kNamed = {"lora_target", "lora_target_modules", "lora_modules", "target_modules", "lora_trainable"};
  const Names kTrainable = {"trainable"};
  const Names kTargets = products ? kTrainable : kNamed;
  const auto stated = settings.text(kTargets);
  // TRL's ModelConfig leaves them to PEFT, whose table has these two for Llama, Mistral, Qwen and Gemma:
  // peft/utils/constants.py.
  const bool of_peft = !kind && settings.has({"use_peft"});
  if (!type && peft.empty() && !kind && settings.has({"lora_dim"})) return map_lora_of_chat(settings, report);
  if (type && peft.empty() && lower_case(*type) != "lora")
    return report.refuse("peft_type " + printable(*type, 40), "these adapters are not modelled; LoRA and QLoRA are");
  const bool switched = !switch_key(settings).empty() || settings.has({"full_finetune"});
  const bool alone = !kind && peft.empty() && !type && !switched && rank.value_or(0) > 0;
  if (!kind && peft.empty() && !type && !alone && !switched && settings.has({"lora_alpha"}))
    return report.ask("training.method",
                      "lora_alpha is stated, but neither a rank nor a switch of adapters; state --set "
                      "training.method=lora and training.rank=N, or training.method=full");
  if (kind ? *kind != "lora" : peft.empty() && !type && !alone) return ignore_whole(settings, kind || switched, report);
  if (alone) report.approximate(settings.from(ranks), "a rank is stated, and no switch turns the adapters on or off");
  const std::string own = alone ? settings.from(ranks) : peft.empty() ? settings.from({"peft_type", "lora_dim"}) : peft;
  const Stated whole = whole_of_trainer(settings, kind.has_value());
  map_adapter({.method = frozen.bits == 4 ? "qlora" : "lora",
               .from = kind ? "finetuning_type" : own,
               .rank = rank,
               .targets = stated.value_or(of_peft ? "q_proj,v_proj" : "all"),
               .targets_because = why_targets(stated.has_value(), kind.has_value(), of_peft),
               .rank_from = settings.from(ranks),
               .targets_from = settings.from(kTargets),
               .whole = whole.value,
               .whole_from = whole.from,
               .base_bits = frozen.bits,
               .base_format = frozen.other_format,
               .own_targets = !stated && !kind && !of_peft,
               .own_rank = kind ? "" : kOwnRank},
              report);
}

// Returns the one key of a model with a prefix of the program's own: llm_model_name_or_path. Empty where there are
// several. Other prefixes tell of a model beside the one that trains, or of a place for its weights: judge_model_path.
std::string key_with_prefix(const Settings& settings) {
  constexpr std::string_view kPrefixes[] = {"actor", "backbone", "base",  "hf",     "language",
                                            "llm",   "lm",       "model", "policy", "pretrained"};
  std::string key;
  for (const auto& [name, value] : settings.document().items()) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) continue;
    const std::string_view end = name.ends_with("_model_path") ? "_model_path" : "_name_or_path";
    if (!name.ends_with(end)) continue;
    const bool trains = std::ranges::all_of(
        words_of_name(name.substr(0, name.size() - end.size())),
        [&](const std::string& word) { return std::ranges::find(kPrefixes, word) != std::end(kPrefixes); });
    if (!trains) continue;
    if (!key.empty()) return "";
    key = name;
  }
  return key;
}

// Programs of their own call it otherwise. A model_name may be no more than a title beside a path.
void map_model_of(const Settings& settings, Report& report) {
  std::string first;
  for (const std::string_view key : kModelKeys) {
    const auto name = settings.text({key});
    if (!name) continue;
    if (model_of_name(*name)) return map_named_model(*name, std::string(key), report);
    if (first.empty()) first = key;
  }
  if (first.empty()) first = key_with_prefix(settings);
  if (first.empty() && map_model_from_scratch(settings, report)) return;
  if (first.empty()) return report.ask("model", "the arguments name no model; state --model");
  map_named_model(settings.text({first}).value_or("?"), first, report);
}

// OpenRLHF's ring attention cuts each sequence; its ranks share a micro-batch: openrlhf/utils/deepspeed/deepspeed.py.
std::int64_t map_ring(const Settings& settings, Report& report) {
  const std::int64_t ranks = settings.whole({"ring_attn_size"}).value_or(1);
  if (ranks > 1) report.map("parallelism.context", ranks, "ring_attn_size");
  return std::max<std::int64_t>(ranks, 1);
}

// Without a flag a step has one micro-batch in the Trainer. A program of the user's own may have another default.
void assume_single_micro_batch(Report& report) {
  const auto all = report.whole("batch.global");
  if (all)
    report.assume("batch.global", *all, "no flag states an accumulation: each rank has one micro-batch in a step");
}

/// Names of one switch in programs of the user's own.
const Names kRecomputed = {"gradient_checkpointing",
                           "use_gradient_checkpointing",
                           "enable_gradient_checkpointing",
                           "grad_checkpointing",
                           "use_grad_checkpointing",
                           "enable_grad_checkpointing",
                           "activation_checkpointing",
                           "use_activation_checkpointing",
                           "enable_activation_checkpointing",
                           "fsdp_config.activation_checkpointing"};  // of the Trainer: transformers, training_args.py
const Names kPacked = {"packing",          "neat_packing", "pack_sequences",
                       "packed_sequences", "use_packing",  "pad_to_max_length"};

void map_trainer_recompute(const Settings& settings, Defaults defaults, Report& report) {
  // Other programs have a key of that name, too.
  const bool factory = settings.has({"finetuning_type"}) &&
                       (settings.has({"stage"}) || settings.has({"template"}) || settings.has({"cutoff_len"}) ||
                        settings.has({"dataset"}) || settings.has({"dataset_dir"}));
  if (factory) (void)settings.at("gradient_checkpointing");  // its own key decides
  const bool checkpointed = factory ? !settings.on({"disable_gradient_checkpointing"}) : settings.on(kRecomputed);
  const std::string own = settings.from(kRecomputed);
  const std::string denied = settings.from({"disable_gradient_checkpointing"});
  // trl/models/activation_offloading.py
  if (const char* const moved = "activation_offloading"; settings.on({moved}))
    map_offload("activations", "cpu", moved, report);
  if (factory)
    report.map("recompute.granularity", checkpointed ? "full" : "none",
               denied.empty() ? "LLaMA-Factory and ms-swift recompute by default" : denied);
  else if (!own.empty())
    report.map("recompute.granularity", checkpointed ? "full" : "none", own);
  else if (defaults == Defaults::kUnknown)
    report.assume("recompute.granularity", "none", "no flag states it; the program may recompute by itself");
  else
    report.assume("recompute.granularity", "none", "the Trainer's default (training_args.py)");
}

void map_trainer_optimizer(const Settings& settings, Defaults defaults, Report& report) {
  if (const auto name = settings.text({"optim"}))
    map_optimizer_name(*name, "optim", report);
  else if (defaults == Defaults::kUnknown)
    report.assume("optimizer.name", "adam", "no flag states it; the program may have another optimizer");
  else
    report.assume("optimizer.name", "adam", "AdamW is the Trainer's default");
}

// NCCL is the library of all collectives here. Another value of these keys may name a way to share the model.
void ignore_library(const Settings& settings, Report& report) {
  for (const char* key : {"backend", "dist_backend", "distributed_backend"})
    if (settings.document().contains(key) && settings.document()[key] == "nccl") {
      (void)settings.at(key);
      report.ignore(key, "");
    }
}

}  // namespace

bool is_trainer(const Json& document) {
  // LLaMA-Factory's files may leave the batch to its default.
  return document.is_object() && (document.contains("per_device_train_batch_size") ||
                                  (document.contains("model_name_or_path") && document.contains("finetuning_type")));
}

void read_trainer(const Json& document, std::optional<std::int64_t> gpus, Report& report, const Json* deepspeed,
                  Defaults defaults) {
  report.framework = "Hugging Face Trainer";
  const Settings settings(document, report);
  refuse_other_stages(settings, report);
  refuse_megatron(settings, report);
  map_model_of(settings, report);
  map_length(settings, report);
  if (gpus) report.map("gpus", *gpus, "the command line");
  const auto all = settings.whole({"global_train_batch_size"});
  auto accumulation = settings.whole({"gradient_accumulation_steps"});
  const bool single = !settings.has({"gradient_accumulation_steps"}) && !all;
  if (single) accumulation = 1;
  const std::int64_t ring = map_ring(settings, report) * map_stages(settings, report);
  map_data_batch({settings.whole({"per_device_train_batch_size"}), accumulation, all, "per_device_train_batch_size",
                  "global_train_batch_size"},
                 gpus, ring, report);
  if (single && defaults == Defaults::kUnknown) assume_single_micro_batch(report);
  map_trainer_precision(settings, report);
  map_eager_attention(settings, report);
  refuse_other_device(settings, report);
  map_trainer_recompute(settings, defaults, report);
  ask_beside_stages(settings, report);
  map_trainer_optimizer(settings, defaults, report);
  if (deepspeed != nullptr && defaults == Defaults::kTrainer) check_batch_of_deepspeed(settings, *deepspeed, report);
  map_trainer_sharding(settings, deepspeed, gpus, defaults, report);
  map_trainer_method(settings, report);
  ask_about_adapter(settings, report);
  if (deepspeed == nullptr) map_trainer_weights(settings, report);
  if (!settings.on(kPacked)) report.approximate("packing", kNotPacked);
  ignore_library(settings, report);
  settings.sort_rest(kTrainerKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::tuning

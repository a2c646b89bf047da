// Makes a scenario of an axolotl recipe.
//
// Names and defaults: axolotl-ai-cloud/axolotl, src/axolotl/utils/schemas/config.py and docs/config.qmd.
#include <algorithm>
#include <sstream>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/megatron/deepspeed_config.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/names/stored_weights.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr const char* kDiffusion = "diffusion: tokens are masked, and attention looks both ways";

/// Methods and kernels that change the answer.
constexpr KeyRule kAxolotlKeys[] = {
    {"relora relora_*", "ReLoRA merges adapters and starts again during the run", true},
    {"unfrozen_parameters spectrum_* lisa_*", "only some layers train", true},
    {"rl dpo_* kto_* orpo_* trl.* grpo_* reward_model process_reward_model",
     "preferences or reinforcement, not plain training", true},
    {"gptq* awq* quantization.* qat.* nvfp4_*", "weights that are quantised in training", true},
    {"lora_target_parameters", "adapters beside the stacked weights of experts", true},
    {"tiled_mlp*", "an MLP in tiles, each of which is computed once more in the backward pass", true},
    {"diffusion.*", kDiffusion, true},
    {"peft_layer_replication", "layers that are repeated", true},
    {"optim_target_modules", "an optimizer with other costs and memory", true},
    {"auto_find_batch_size", "the batch is searched for at the start", true},
    {"kd_* distill*", "distillation: a second model runs", true},
    {"use_kt* kt_*", "experts on the CPU", true},
    {"tensor_parallel_size context_parallel_size sequence_parallel_degree expert_parallel_size "
     "dp_replicate_size "
     "heads_k_stride ring_attn_func",
     "it cuts the model in other ways", true},
    {"bnb_4bit_* bnb_config_kwargs.*", "products of 4-bit weights are computed as the runtime does it"},
    {"dp_shard_size quantize_moe_experts fsdp_version", "weights are sharded over all data ranks"},
    {"lora_modules_to_save* modules_to_save*", "weights that train whole beside the adapter", true},
    {"peft_layers_to_transform*", "adapters in some layers only", true},
    {"layer_offloading", "weights of frozen layers that move to the host's memory", true},
    {"liger_* cut_cross_entropy flash_attn_* lora_mlp_kernel lora_qkv_kernel lora_o_kernel unsloth_* "
     "torch_compile* fused_* xformers_attention sdp_attention eager_attention attn_implementation attention "
     "flash_attention "
     "flash_optimum scaling_softmax flex_attention flex_attn_* bettertransformer torch_dtype moe_kernels moe_kernel_* "
     "moe_group_size moe_persistent_kernel use_kernels use_scattermoe use_sonicmoe",
     "kernels are fused as the runtime has them"},
    {"sample_packing_* pad_to_sequence_len eval_sample_packing group_by_length multipack_* excess_length_strategy "
     "train_on_inputs sample_packing pretraining_sample_concatenation batch_flattening",
     "sequences are taken as whole ones"},
    {"peft_use_dora lora_use_dora", kDora, true},
    {"fsdp_config.mixed_precision_policy fsdp_config.fsdp_mixed_precision_policy",
     "types of gathered weights and of the reduction that the section states for itself", true},
    {kFsdpKeysWithoutEffect},
    {"jagged_restart_*"},  // the learning rate; beside ReLoRA relora is refused
    {"train_batch_size", "axolotl has no such key and leaves it out; micro_batch_size counts"},
    {kNoEffectKeys}};

/// Classes behind `plugins`, parted by spaces: src/axolotl/integrations.
constexpr KeyRule kPlugins[] = {
    {"LigerPlugin CutCrossEntropyPlugin KernelsPlugin", "kernels are fused as the runtime has them"},
    {"ExpertParallelPlugin", "expert_parallel_size decides about it"},
    {"LMEvalPlugin SwanLabPlugin"},  // evaluation behind the training, and a log
    {"KDPlugin", "distillation: a second model runs", true},
    {"SpectrumPlugin", "only some layers train", true},
    {"DiffusionPlugin", kDiffusion, true}};

void sort_plugins(const Settings& settings, Report& report) {
  std::istringstream listed(settings.text({"plugins"}).value_or(""));
  for (std::string plugin; listed >> plugin;) {
    const std::string name = printable(plugin.substr(plugin.rfind('.') + 1), 60);
    const auto* const rule =
        std::ranges::find_if(kPlugins, [&](const KeyRule& one) { return lists_key(one.keys, name); });
    if (rule == std::end(kPlugins))
      report.refuse("plugins " + name, "an unknown plugin may change the model and the training", "plugins");
    else if (rule->refused)
      report.refuse("plugins " + name, std::string(rule->because), "plugins");
    else if (rule->because.empty())
      report.ignore("plugins " + name, "");
    else
      report.approximate("plugins " + name, std::string(rule->because));
  }
}

bool is_second_fsdp(const Settings& settings) {
  return settings.text({"fsdp_version", "fsdp_config.fsdp_version", "fsdp_config.version"}) == "2";
}

// Versions with ring-flash-attn choose by sample_packing, later ones by the heads and the network:
// utils/schemas/validation.py, docs/sequence_parallelism.qmd.
void map_axolotl_exchange(const Settings& settings, Report& report) {
  const Names kFunction = {"ring_attn_func"};
  const auto function = settings.text(kFunction);
  if (!function)
    return report.ask("parallelism.context_exchange",
                      "the version of axolotl decides how context ranks exchange keys and values; state --set "
                      "parallelism.context_exchange=ring, all-gather or all-to-all");
  if (*function == "varlen_llama3" || *function == "batch_ring")
    return report.map("parallelism.context_exchange", *function == "batch_ring" ? "ring" : "all-gather",
                      settings.from(kFunction));
  report.refuse(settings.from(kFunction), "expected varlen_llama3 or batch_ring, found " + in_quotes(*function));
}

// Returns the GPUs that share a micro-batch. Degrees beside the second FSDP are those of accelerate's mesh:
// docs/nd_parallelism.qmd. A rule refuses the others.
std::int64_t map_axolotl_degrees(const Settings& settings, Report& report) {
  const bool other = settings.has({"deepspeed"}) || settings.has({"adapter"}) || !settings.has({"fsdp_config"});
  if (other || !is_second_fsdp(settings)) return 1;
  std::int64_t replica = 1;
  // The older name counts where the newer one is not stated: utils/schemas/validation.py.
  const bool old = settings.has({"sequence_parallel_degree"}) && !settings.has({"context_parallel_size"});
  for (const auto& [name, key] :
       {std::pair("tensor_parallel_size", "parallelism.tensor"),
        std::pair(old ? "sequence_parallel_degree" : "context_parallel_size", "parallelism.context")}) {
    const auto degree = settings.whole({name});
    if (degree && (*degree < 1 || *degree > kMostCount / replica)) {
      report.refuse(name, "found " + std::to_string(*degree));
    } else if (degree && *degree > 1) {
      report.map(key, *degree, name);
      replica *= *degree;
    }
  }
  if (report.has("parallelism.context")) map_axolotl_exchange(settings, report);
  return replica;
}

// `deepspeed` is the content of the file that the recipe names, or null.
void map_axolotl_sharding(const Settings& settings, const Json* deepspeed, Report& report) {
  const Names kDeepSpeed = {"deepspeed"};
  if (deepspeed != nullptr) {
    report.assume("runtime", "pytorch-fsdp", "the runtime of PyTorch with data parallelism only");
    megatron::map_deepspeed_config(*deepspeed, report);
    if (!report.has("optimizer.zero_stage"))
      map_sharding(0, "the DeepSpeed configuration states no zero_optimization", report);
    return;
  }
  if (const auto file = settings.text(kDeepSpeed)) {
    if (map_named_zero(*file, report)) return;
    return report.ask("optimizer.zero_stage",
                      "the file " + in_quotes(*file) + " decides about ZeRO, and its name says no stage");
  }
  const Names kStrategy = {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy"};
  const bool sharded = settings.has({"fsdp"}) || settings.has({"fsdp_config"}) || settings.has({"fsdp_version"});
  const FsdpWords words = fsdp_words(settings.text({"fsdp"}).value_or(""));
  const bool named = !words.strategy.empty();
  const std::string section = settings.text(kStrategy).value_or("FULL_SHARD");
  const std::string& strategy = named ? words.strategy : section;
  note_replicas(strategy, named ? "fsdp" : settings.from(kStrategy), report);
  note_order_of_gathers(settings);
  // Without it the second FSDP keeps gathered weights, which is ZeRO 2: docs/nd_parallelism.qmd.
  const auto again =
      settings.text({"fsdp_config.reshard_after_forward", "fsdp_config.fsdp_reshard_after_forward"}).value_or("true");
  const bool kept = is_second_fsdp(settings) && !switch_of(again).value_or(true);
  const std::int64_t stage = kept ? 2 : stage_of_strategy(strategy).value_or(3);
  note_units(settings, sharded ? stage : 0, words);
  map_sharding(sharded ? stage : 0, sharded ? "fsdp" : "no fsdp and no deepspeed: every rank holds everything", report);
  const Names kOffload = {"fsdp_config.fsdp_offload_params", "fsdp_config.offload_params"};
  if (sharded && (settings.on(kOffload) || words.moves_parameters))
    map_offload("parameters", "cpu", words.moves_parameters ? "fsdp" : settings.from(kOffload), report);
}

void map_axolotl_method(const Settings& settings, Report& report) {
  const auto adapter = settings.text({"adapter"});
  const std::string model = settings.text({"base_model"}).value_or("");
  const bool four = settings.on({"load_in_4bit"}) || holds_four_bits(model);
  const bool eight = settings.on({"load_in_8bit"}) || holds_eight_bits(model), other = holds_fp8(model);
  const auto rank = settings.whole({"lora_r"});
  const Names kWhole = {"lora_modules_to_save"};
  const std::string whole_from = settings.from(kWhole), whole = settings.text(kWhole).value_or("");
  for (const char* key : {"lora_target_linear", "lora_target_modules"}) (void)settings.at(key);
  if (!adapter) {
    // The tool stops: "not supported without setting an adapter for training" (validation of its schemas).
    if (four || eight || other)
      report.refuse(four ? "load_in_4bit" : "load_in_8bit", "frozen weights of few bits without an adapter");
    // Only a configuration of PEFT reads it: src/axolotl/loaders/adapter.py, load_lora.
    if (!whole_from.empty()) report.ignore(whole_from, "");
    return;
  }
  const std::string targets =
      settings.on({"lora_target_linear"}) ? "all" : settings.text({"lora_target_modules"}).value_or("all");
  map_adapter({.method = *adapter,
               .from = "adapter",
               .rank = rank,
               .targets = targets,
               .whole = whole,
               .whole_from = whole_from,
               .base_bits = four    ? 4
                            : eight ? 8
                                    : 16,
               .base_format = other ? "fp8" : ""},
              report);
}

// Each key is enough: recipes turn one off where another one is on.
void map_axolotl_recompute(const Settings& settings, Report& report) {
  std::string from;
  for (const char* key : {"gradient_checkpointing", "activation_offloading",
                          "fsdp_config.fsdp_activation_checkpointing", "fsdp_config.activation_checkpointing"})
    if (settings.on({key}) && from.empty()) from = key;
  // axolotl, core/trainers/mixins/activation_checkpointing.py: true is TRL's, which copies in streams of its own. Other
  // words copy in the stream of the kernels (CPU_Offloaded_Gradient_Checkpointer), or to a disk.
  for (const char* key : {"gradient_checkpointing", "activation_offloading"}) {
    const std::string where = settings.text({key}).value_or("");
    const bool word = !where.empty() && !switch_of(where);
    if (word)
      report.refuse(key, in_quotes(printable(where, 20)) +
                             " moves activations to the host or a disk, and the GPU waits "
                             "for the copies, which is not modelled");
    else if (key == std::string_view("activation_offloading") && settings.on({key}))
      map_offload("activations", "cpu", key, report);
  }
  const char* const kRecompute = "recompute.granularity";
  if (!from.empty()) return report.map(kRecompute, "full", from);
  if (settings.has({"gradient_checkpointing"})) return report.map(kRecompute, "none", "gradient_checkpointing");
  report.assume(kRecompute, "none", "axolotl's default");
}

}  // namespace

bool is_axolotl(const Json& document) { return document.is_object() && document.contains("base_model"); }

void read_axolotl(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "axolotl";
  Json recipe = document;
  const auto deepspeed = deepspeed::take_deepspeed_object(recipe);
  const Settings settings(recipe, report);
  map_named_model(settings.text({"base_model"}).value_or("?"), "base_model", report);
  if (!settings.map_whole({"sequence_len"}, "batch.sequence_length"))
    report.ask("batch.sequence_length", "the recipe states no sequence_len");
  const auto old_batch = settings.whole({"batch_size"});
  auto micro = settings.whole({"micro_batch_size"});
  const bool divides = old_batch && micro && *micro > 0 && *old_batch >= *micro;
  const auto accumulation =
      settings.whole({"gradient_accumulation_steps"}).value_or(divides ? *old_batch / *micro : std::int64_t{1});
  // The old batch_size is that of a step and rank.
  if (old_batch && !micro && accumulation > 0) micro = *old_batch / accumulation;
  const bool single_sequence = !micro && !old_batch;
  if (single_sequence) micro = 1;
  if (gpus) report.map("gpus", *gpus, "the command line");
  const std::int64_t replica = deepspeed ? 1 : map_axolotl_degrees(settings, report);
  map_data_batch({micro, accumulation, {}, "micro_batch_size"}, gpus, replica, report);
  if (single_sequence) report.assume("batch.micro", 1, "axolotl's default (utils/schemas/training.py)");
  const bool brain = settings.on({"bf16", "bfloat16"}), half = settings.on({"fp16", "float16"}) && !brain;
  // Without a key it is "auto", which is bf16 on the GPUs that are modelled: config.py; normalize_config().
  const bool single = !brain && !half && settings.text({"bf16"}).value_or("auto") == "false";
  // "auto" becomes bf16 where the GPU has it, and the Trainer stops over two types: training_args.py, __post_init__.
  if (settings.text({"bf16"}) == "auto" && settings.on({"fp16"}))
    report.ask("precision", "fp16: true stands beside bf16: auto; state --set precision=bf16, or fp16");
  else
    report.map("precision", half ? "fp16" : single ? "fp32" : "bf16", half ? "fp16" : "bf16");
  if (settings.on({"fp8"})) report.refuse("fp8", "products in fp8 of this tool are not modelled");
  map_axolotl_recompute(settings, report);
  if (const auto name = settings.text({"optimizer"})) map_optimizer_name(*name, "optimizer", report);
  map_eager_attention(settings, report);
  refuse_other_device(settings, report);
  map_axolotl_sharding(settings, deepspeed ? &*deepspeed : nullptr, report);
  map_axolotl_method(settings, report);
  sort_plugins(settings, report);
  // bf16 is the type of the loaded weights, too: axolotl, utils/config/__init__.py. DeepSpeed, and FSDP beside
  // accelerate's mixed precision, keep weights of fp32.
  if (!deepspeed && !settings.has({"deepspeed"}) && report.whole("optimizer.zero_stage") == 0)
    map_weights_of_16_bits("bf16", report);
  if (!settings.on({"sample_packing"}) && !settings.on({"pad_to_sequence_len"}))
    report.approximate("sample_packing", kNotPacked);
  settings.sort_rest(kAxolotlKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::tuning

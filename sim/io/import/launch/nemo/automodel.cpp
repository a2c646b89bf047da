// Makes a scenario of a recipe of NeMo AutoModel.
//
// Names and defaults: NVIDIA-NeMo/Automodel, nemo_automodel/components/distributed/config.py and pipelining/config.py,
// components/_peft/lora.py, docs/guides/mixed-precision-training.md.
#include "sim/io/import/launch/nemo/automodel.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/nemo/automodel_parts.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr KeyRule kKeys[] = {
    {"teacher_model.* kd_*", "distillation: a second model runs", true},
    {"qat.*", "QAT: fake quantisation in training", true},
    {"freeze_config.* processor.*", "a multimodal model", true},
    {"model.backend.te_fp8*", "products of these layers in fp8 are not modelled", true},
    {"peft.moe_rank_scaling", "adapters of experts have a rank of their own", true},
    {"peft.use_dora", tuning::kDora, true},
    {"distributed.pipeline.module_fqns_per_model_part autopipeline.module_fqns_per_model_part",
     "layers are dealt evenly over the stages"},
    {"distributed.moe.checkpoint_moe_only distributed.moe.activation_checkpointing_modules",
     "recomputing a part of each layer is not modelled", true},
    {"distributed.report_nan_in_param_grad", "a check of each gradient, which slows the step", true},
    {"distributed.megatron_fsdp_unit_modules", "weights are gathered layer by layer"},
    {"distributed.gradient_as_bucket_view distributed.fsdp_double_buffer",
     "buffers of gradients and weights are those of the runtime"},
    {"distributed.moe.lm_head_precision parallelizer.lm_head_precision", "the head runs in 16 bits"},
    {"distributed.moe.ignore_router_for_ac parallelizer.ignore_router_for_ac",
     "routers are recomputed with their layers"},
    {"distributed.pipeline.* autopipeline.* distributed.dp_size distributed.backend distributed.world_size "
     "distributed.check_for_nan_in_grad distributed.calculate_per_token_loss distributed.init_fsdp_with_meta_device "
     "distributed.mp_policy._target_ distributed_config.mp_policy._target_ distributed.moe.mp_policy._target_ "
     "parallelizer.mp_policy._target_ model.backend._target_ loss_fn._target_"},
    {"model.backend.* model.attn_implementation model.use_liger_kernel model.use_sdpa_patching model.force_hf "
     "loss_fn.* autocast.* optimizer.foreach optimizer.fused peft.use_triton compile.*",
     "kernels are fused as the runtime has them"},
    {"distributed.tp_plan* distributed.use_hf_tp_plan distributed.defer_fsdp_grad_sync distributed.moe.* "
     "distributed.enable_fsdp2_prefetch distributed.fsdp2_* distributed.mp_policy.* distributed_config.mp_policy.* "
     "distributed.overlap_* distributed.patch_* distributed.average_in_collective distributed.disable_bucketing "
     "distributed.nccl_ub distributed.broadcast_buffers distributed.find_unused_parameters distributed.static_graph "
     "distributed.bucket_cap_mb parallelizer.*",
     "communication is arranged as the runtime does it"},
    {"fp8.filter_fqns", "the usual products run in fp8, whatever this list leaves out"},
    {"fp8.emulate", "products that emulate fp8", true},
    {"fp8.enable_fsdp_float8_all_gather fp8.precompute_float8_dynamic_scale_for_fsdp",
     "weights are gathered in 16 bits"},
    {"fp8.*", "weights are cast to fp8 as the runtime does it"},
    {"packed_sequence.*", "attention sees the whole sequence"},
    {"benchmark.* checkpoint.* ci.* clip_grad_norm.* comet.* dataloader.* dataset.* dist_env.* logger.* lr_scheduler.* "
     "max_grad_norm mlflow.* model._target_ model.config._target_ model.config.trust_remote_code model.is_meta_device "
     "model.load_base_model model.output_hidden_states model.trust_remote_code optimizer.* peft._target_ peft.alpha "
     "peft.dropout* peft.lora_* recipe recipe.* rng.* seed slurm.* step_scheduler.* tokenizer.* tool_call_eval.* "
     "validation* wandb.*"}};

bool names_other_task(const std::string& target) {
  const std::string lower = lower_case(target);
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"imagetext", "sequenceclassification", "multimodal", "biencoder",
                                              "crossencoder", "diffusion", "audio", "speech", "textto", "knowledge",
                                              "distillation", "vlm"},
      [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

// The sizes of transformers.Qwen3Config and the like, as a config.json has them.
Json config_of_sizes(const Json& model) {
  const auto section = model.find("config");
  if (section == model.end() || !section->is_object()) return {};
  const auto target = section->find("_target_");
  if (target == section->end() || !target->is_string()) return {};
  std::string type = last_part(lower_case(target->get<std::string>()));
  type = type.substr(0, type.rfind("config"));
  constexpr std::string_view kTypes[] = {"llama", "mistral", "qwen2", "qwen3", "gpt2"};
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) return {};
  Json config = {{"name", type + " of the recipe"}, {"model_type", type}};
  for (const auto& [key, value] : section->items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    if (const auto whole = whole_of(text))
      config[key] = *whole;
    else if (const auto number = number_of_text(text))
      config[key] = *number;
    else if (const auto on = switch_of(text); on && (lower_case(text) == "true" || lower_case(text) == "false"))
      config[key] = *on;
  }
  return config.contains(type == "gpt2" ? "n_layer" : "num_hidden_layers") ? config : Json();
}

// Returns the layers of the model; 0 where nobody knows them.
std::int64_t map_model(const Settings& settings, Report& report) {
  const Json& model = settings.document().at("model");
  const bool plain = model.contains("config") && model.at("config").is_string();
  auto name = settings.text({"model.pretrained_model_name_or_path", "model.config.pretrained_model_name_or_path",
                             "model.config.name_or_path"});
  if (!name && plain) name = settings.text({"model.config"});
  if (!name) {
    (void)settings.at("model.config");
    const Json config = config_of_sizes(model);
    if (config.is_object()) {
      report.map("model", config, "model.config");
      return config.value(config.contains("n_layer") ? "n_layer" : "num_hidden_layers", std::int64_t{0});
    }
    report.ask("model", "the recipe builds it of sizes of its own");
    return 0;
  }
  map_named_model(*name, "model.pretrained_model_name_or_path", report);
  const auto known = model_of_name(*name);
  return known ? known->layers : 0;
}

struct Degrees {
  std::int64_t tensor = 1, stages = 1, context = 1;
  [[nodiscard]] std::int64_t replica() const { return tensor * stages * context; }
};

std::int64_t map_degree(const Settings& settings, Names names, std::string_view key, Report& report) {
  const std::int64_t value = settings.whole(names).value_or(1);
  if (value > kMostCount) report.refuse(settings.from(names), fmt::format("expected {} ranks at most", kMostCount));
  const bool stated = value >= 1 && value <= kMostCount && settings.has(names);
  if (stated)
    report.map(key, value, settings.from(names));
  else
    report.assume(key, 1, "one rank by default");
  return stated ? value : 1;
}

Degrees map_degrees(const Settings& settings, Report& report) {
  Degrees degrees;
  degrees.tensor = map_degree(settings, {"distributed.tp_size"}, "parallelism.tensor", report);
  degrees.stages = map_degree(settings, {"distributed.pp_size"}, "parallelism.pipeline", report);
  degrees.context = map_degree(settings, {"distributed.cp_size"}, "parallelism.context", report);
  (void)map_degree(settings, {"distributed.ep_size"}, "parallelism.expert", report);
  const Names kSequence = {"distributed.sequence_parallel", "distributed_config.sequence_parallel"};
  const bool shared = degrees.tensor > 1 && settings.on(kSequence);
  report.map("parallelism.sequence_parallel", shared, shared ? settings.from(kSequence) : "distributed.tp_size");
  const Names kAsync = {"distributed.enable_async_tensor_parallel", "distributed_config.enable_async_tensor_parallel"};
  if (settings.on(kAsync) && degrees.tensor > 1) {
    report.map("parallelism.sequence_parallel", true, settings.from(kAsync));
    report.map("overlap.tensor_parallel", true, settings.from(kAsync));
  }
  return degrees;
}

// The section of Slurm, or else the data ranks of the recipe, state the GPUs where no launcher does. The mesh of
// FSDP2Manager is pipeline x data x context x tensor.
std::optional<std::int64_t> gpus_of(const Settings& settings, const Degrees& degrees, std::optional<std::int64_t> gpus,
                                    Report& report) {
  const std::int64_t data = settings.whole({"distributed.dp_size"}).value_or(0);
  const std::int64_t nodes = settings.whole({"slurm.nodes"}).value_or(0);
  const std::int64_t each = settings.whole({"slurm.ntasks_per_node", "slurm.gpus_per_node"}).value_or(0);
  if (gpus) return gpus;  // the report lists what the command line states
  const auto sound = [](std::int64_t one) { return one > 0 && one <= kMostCount; };
  if (sound(nodes) && sound(each)) gpus = nodes * each;
  const std::string from = gpus ? "slurm.nodes, slurm.ntasks_per_node" : "distributed.dp_size";
  const bool few =
      degrees.tensor <= kMostCount / degrees.stages && degrees.tensor * degrees.stages <= kMostCount / degrees.context;
  if (!gpus && sound(data) && few) gpus = data * degrees.replica();
  if (gpus) report.map("gpus", *gpus, from);
  return gpus;
}

// Returns true for replicas whose shards have one rank each. Others are refused. The data and context ranks of a
// replica share weights (mesh dp_shard_cp), and without dp_size the data ranks follow from the GPUs:
// components/distributed/fsdp2.py.
bool are_replicas_alone(const Settings& settings, const Degrees& degrees, std::optional<std::int64_t> gpus,
                        Report& report) {
  const Names kCopies = {"distributed.dp_replicate_size"};
  const std::int64_t copies = settings.whole(kCopies).value_or(1);
  if (copies <= 1) return false;
  const double replica =
      static_cast<double>(degrees.tensor) * static_cast<double>(degrees.stages) * static_cast<double>(degrees.context);
  const auto stated = settings.whole({"distributed.dp_size"});
  const double data =
      stated && *stated > 0 ? static_cast<double>(*stated) : static_cast<double>(gpus.value_or(0)) / replica;
  const bool alone = data == static_cast<double>(copies) && degrees.context == 1;
  if (!alone) refuse_replicas(std::to_string(copies), settings.from(kCopies), report);
  return alone;
}

constexpr std::pair<std::string_view, std::string_view> kSchedules[] = {{"1f1b", "1f1b"},
                                                                        {"interleaved1f1b", "interleaved-1f1b"},
                                                                        {"gpipe", "gpipe"},
                                                                        {"loopedbfs", "looped-bfs"},
                                                                        {"interleavedzerobubble", "interleaved-zb"},
                                                                        {"zbvzerobubble", "zb-v"},
                                                                        {"dualpipev", "dualpipe-v"}};

// The chunks of a stage follow from the layers of a chunk. Their number is rounded to a multiple of the stages where
// the recipe says how; otherwise AutoModel does not start (pipelining/functional.py, calculate_virtual_stages).
void map_chunks(const Settings& settings, std::int64_t layers, std::int64_t stages, Report& report) {
  const Names kPer = {"distributed.pipeline.layers_per_stage", "autopipeline.layers_per_stage"};
  const Names kRound = {"distributed.pipeline.round_virtual_stages_to_pp_multiple",
                        "autopipeline.round_virtual_stages_to_pp_multiple"};
  const std::int64_t per = settings.whole(kPer).value_or(0);
  if (per < 1) return report.assume("parallelism.virtual_pipeline", 2, "two chunks a stage in looped schedules");
  if (layers == 0)
    return report.ask("parallelism.virtual_pipeline",
                      fmt::format("chunks of {} layers; the layers of the model are not known", per));
  const std::int64_t chunks = (layers - 1) / per + 1;
  const std::string round = settings.text(kRound).value_or("");
  const std::int64_t each = round == "down" ? chunks / stages : (chunks - 1) / stages + 1;
  if (chunks % stages != 0 && round != "up" && round != "down")
    report.refuse(
        settings.from(kPer),
        fmt::format("{} layers make {} chunks, no multiple of {} stages, and the recipe does not say how they "
                    "are rounded; allowed, they are rounded up",
                    layers, chunks, stages));
  if (each < 2)
    report.refuse(settings.from(kPer),
                  fmt::format("{} chunks on {} stages: this schedule takes two a stage or more", chunks, stages));
  report.map("parallelism.virtual_pipeline", std::max<std::int64_t>(1, each), settings.from(kPer));
}

void map_schedule(const Settings& settings, std::int64_t layers, std::int64_t stages, Report& report) {
  if (stages == 1) return;
  if (const Names kOrder = {"distributed.pipeline.pp_schedule_csv", "autopipeline.pp_schedule_csv"};
      settings.has(kOrder))
    report.refuse(settings.from(kOrder), "an order of passes of its own; state it with --set schedule=FILE");
  const Names kNames = {"distributed.pipeline.pp_schedule", "autopipeline.pp_schedule"};
  const std::string stated = settings.text(kNames).value_or("1f1b");
  std::string plain = lower_case(stated);
  std::erase(plain, '_');
  const auto* const known = std::ranges::find(kSchedules, plain, &std::pair<std::string_view, std::string_view>::first);
  if (known == std::end(kSchedules))
    return report.refuse(settings.from(kNames), "the schedule " + in_quotes(stated) + " is not modelled");
  report.map("schedule", std::string(known->second), settings.has(kNames) ? settings.from(kNames) : "by default");
  if (plain != "1f1b" && plain != "gpipe") map_chunks(settings, layers, stages, report);
}

void map_sequence(const Settings& settings, Report& report) {
  const Names kPacked = {"packed_sequence.packed_sequence_size"};
  const bool packed = settings.whole(kPacked).value_or(0) > 0;
  const Names kLength = {"dataset.seq_len", "dataset.seq_length", "dataset.max_seq_length", "dataset.max_seq_len"};
  if (packed)
    settings.map_whole(kPacked, "batch.sequence_length");
  else if (!settings.map_whole(kLength, "batch.sequence_length"))
    report.ask("batch.sequence_length", "sequences are as long as the data");
  const std::string data_set = lower_case(settings.text({"dataset._target_"}).value_or(""));
  const bool whole = data_set.find("mock") != data_set.npos || data_set.find("megatron") != data_set.npos ||
                     data_set.find("nanogpt") != data_set.npos;
  if (!packed && !whole) report.approximate("packed_sequence", tuning::kNotPacked);
}

// A pipeline takes the local batch in micro-batches of its own, once for each step of accumulation.
void map_piped_batch(const Settings& settings, const Degrees& degrees, std::optional<std::int64_t> gpus,
                     DataBatch batch, Report& report) {
  const Names kPart = {"distributed.pipeline.pp_microbatch_size", "autopipeline.pp_microbatch_size"};
  const std::optional<std::int64_t> local = batch.micro, steps = batch.accumulation;
  const std::int64_t part = settings.whole(kPart).value_or(1);
  const auto sound = [](std::int64_t one) { return one > 0 && one <= kMostCount; };
  batch.micro = part;
  batch.from = settings.has(kPart) ? "pp_microbatch_size" : "pp_microbatch_size, 1 by default";
  batch.accumulation.reset();
  if (local && sound(*local) && sound(part)) {
    const bool whole = *local % part == 0;
    if (!whole)
      report.refuse("step_scheduler.local_batch_size",
                    fmt::format("{} sequences are no multiple of the pipeline's micro-batch, {}", *local, part));
    if (steps && whole) batch.accumulation = sound(*steps) ? *steps * (*local / part) : *steps;
  }
  map_data_batch(batch, gpus, degrees.replica(), report);
  const std::int64_t data = gpus.value_or(0) / degrees.replica();
  std::int64_t fills = batch.global ? 1 : steps.value_or(1);
  if (batch.global && local && sound(*local) && data > 0) fills = (*batch.global / data - 1) / *local + 1;
  if (fills > 1)
    report.refuse(batch.global ? "step_scheduler.local_batch_size" : "step_scheduler.grad_acc_steps",
                  fmt::format("the pipeline is filled {} times a step, and once in the model", fills));
}

void map_batch(const Settings& settings, const Degrees& degrees, std::optional<std::int64_t> gpus, Report& report) {
  // Recipes of early 2025 state the accumulation.
  const auto steps = settings.whole({"step_scheduler.grad_acc_steps"});
  const auto global = settings.whole({"step_scheduler.global_batch_size"});
  const DataBatch batch{.micro = settings.whole({"step_scheduler.local_batch_size", "dataloader.batch_size"}),
                        .accumulation = global ? std::nullopt : steps,
                        .global = global,
                        .from = "step_scheduler.local_batch_size",
                        .global_from = "step_scheduler.global_batch_size",
                        .accumulation_from = "step_scheduler.grad_acc_steps"};
  if (degrees.stages > 1)
    map_piped_batch(settings, degrees, gpus, batch, report);
  else
    map_data_batch(batch, gpus, degrees.replica(), report);
  map_sequence(settings, report);
}

}  // namespace

bool is_automodel(const Json& document) {
  const auto has = [&](const char* section) {
    return document.is_object() && document.contains(section) && document.at(section).is_object();
  };
  return has("step_scheduler") && has("model") && document.at("model").contains("_target_");
}

void read_automodel(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "NeMo AutoModel";
  Json resolved = document;
  const auto variables = resolve_references(resolved);
  const Settings settings(std::move(resolved), report);
  const std::string target = settings.text({"model._target_"}).value_or("");
  const bool plain = document.contains("recipe") && document.at("recipe").is_string();
  const char* const recipe_key = plain ? "recipe" : "recipe._target_";
  const std::string recipe = settings.text({recipe_key}).value_or("");
  for (const std::string& one : {target, recipe})
    if (names_other_task(one)) {
      report.refuse(one == target ? "model._target_" : recipe_key,
                    "no plain training of a language model: " + printable(last_part(one), 60));
      report.unread = true;
      return;
    }
  const std::int64_t layers = map_model(settings, report);
  const Degrees degrees = map_degrees(settings, report);
  gpus = gpus_of(settings, degrees, gpus, report);
  map_schedule(settings, layers, degrees.stages, report);
  map_batch(settings, degrees, gpus, report);
  const bool compiled = settings.on({"compile.enabled", "distributed.enable_compile"});
  const std::string runtime = compiled ? "torchtitan-compiled" : "torchtitan";
  report.assume("runtime", runtime, "the runtime of FSDP with DTensors");
  Sharding sharding = sharding_of(settings, report);
  sharding.piped = degrees.stages > 1;
  sharding.alone = gpus == 1;
  sharding.replicated = are_replicas_alone(settings, degrees, gpus, report);
  map_automodel_method(settings, runtime, report);
  map_automodel_precision(settings, sharding, report);
  map_automodel_memory(settings, sharding, report);
  map_automodel_experts(settings, report);
  settings.ignore_variables(variables, kKeys);
  settings.sort_rest(kKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::nemo

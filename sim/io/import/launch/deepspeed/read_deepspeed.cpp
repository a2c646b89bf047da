// Makes a scenario of a DeepSpeed configuration.
//
// Names and defaults: deepspeedai/DeepSpeed, docs/_pages/config-json.md, deepspeed/runtime/{config,zero/config}.py.
// Rules of stage 1, and of bf16 without ZeRO: deepspeed/runtime/engine.py (_configure_zero_optimizer,
// _do_optimizer_sanity_check, _configure_bf16_optimizer).
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/zero_keys.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::deepspeed {
namespace {

constexpr KeyRule kDeepSpeedKeys[] = {
    {"compression_training.*", "compression training changes the kernels", true},
    {"curriculum_learning.*", "curriculum learning changes the sequence length over time", true},
    {"data_efficiency.*", "data efficiency (random-LTD, curriculum) changes the tokens of a layer", true},
    {"progressive_layer_drop.*", "layers are dropped during the run", true},
    {"sparse_attention.*", "sparse attention", true},
    {"sequence_parallel_size", "Ulysses' sequence parallelism of DeepSpeed", true},
    {"pipeline.*", "layers are dealt evenly over the stages"},
    {"torch_autocast.*", "products run in the stated precision"},
    {"quantize_training.* weight_quantization.* eigenvalue.*", "weights are quantised in training", true},
    {"hybrid_engine.*", "training and inference in turns", true},
    {"zero_optimization.zero_quantized_* zero_optimization.zero_hpz_*", "quantised ZeRO++", true},
    // deepspeedai/DeepSpeed, blogs/deepspeed-zenflow and runtime/zenflow/zenflow_config.py.
    {"zero_optimization.zenflow.*",
     "ZenFlow: the GPU updates the most important gradients in every step, and the host the others later and beside "
     "the "
     "steps",
     true},
    {"tensor_parallel.* compile.deepcompile", "tensor parallelism or compilation by DeepSpeed", true},
    {"zero_optimization.offload_*", "the host's copies are pinned and buffered as the runtime does it"},
    {"autotuning.*", "the batch is searched for at the start"},
    {"zero_optimization.* prescale_gradients communication_data_type seq_parallel_communication_data_type aio.* "
     "fp32_allreduce allreduce_always_fp32 use_data_before_expert_parallel* sparse_gradients "
     "gradient_predivide_factor data_types.* compile.*",
     "communication is arranged as the runtime does it"},
    {"activation_checkpointing.*", "it configures an interface that the model's code may use"},
    {"deepspeed gradient_clipping steps_per_print wall_clock_breakdown dump_state fp16.* bf16.* bfloat16.* optimizer.* "
     "scheduler.* "
     "zero_allow_untested_optimizer zero_force_ds_cpu_optimizer cuda_visible_devices disable_allgather comms_config.* "
     "comms_logger.* monitor_config.* tensorboard.* wandb.* csv_monitor.* flops_profiler.* checkpoint.* "
     "memory_breakdown "
     "comet.* timers.* local_rank vocabulary_size load_from_fp32_weights "
     "elasticity.* _* zero3_init_flag zero3_save_16bit_model data_sampling.* dataloader_drop_last nebula.* "
     "use_node_local_storage graph_harvesting "
     "seed train_iters logging.* zero_hpz* gradient_accumulation_dtype amp.*"}};

constexpr const char* kAuto = R"("auto" takes it from the arguments of the trainer)";

bool is_auto(const Settings& settings, const Names& names) { return settings.text(names).value_or("") == "auto"; }

void map_types(const Settings& settings, Report& report) {
  // The Trainer fills in "auto" as on with fp16_backend apex only: transformers, integrations/deepspeed.py.
  if (switch_of(settings.text({"amp.enabled"}).value_or("")).value_or(false))
    report.refuse("amp.enabled", "mixed precision by Apex");
  const Names kHalf = {"fp16.enabled"}, kBrain = {"bf16.enabled", "bfloat16.enabled"};
  const auto half = settings.text(kHalf), brain = settings.text(kBrain);
  if (brain && switch_of(*brain).value_or(false)) return report.map("precision", "bf16", settings.from(kBrain));
  if (half && switch_of(*half).value_or(false)) return report.map("precision", "fp16", settings.from(kHalf));
  if ((half && *half == "auto") || (brain && *brain == "auto")) return report.ask("precision", kAuto);
  report.map("precision", "fp32", "neither fp16 nor bf16 is on");
}

// ZeRO as a number, or in old files as true for stage 1.
std::int64_t zero_stage(const Settings& settings) {
  // at() would count the whole section as read.
  const auto whole = settings.document().find("zero_optimization");
  if (whole != settings.document().end() && whole->is_string())
    return switch_of(settings.text({"zero_optimization"}).value_or("")).value_or(false) ? 1 : 0;
  return settings.whole({"zero_optimization.stage"}).value_or(0);
}

// Below stage 3 every rank holds its parameters, and the section has no effect: docs/_pages/config-json.md,
// offload_param.
void map_parameters(const std::string& device, const char* from, std::int64_t stage, Report& report) {
  if (stage == 3) return map_offload("parameters", device, from, report);
  report.approximate(from, "parameters leave the GPU at stage 3 only");
}

}  // namespace

// Stage 3 overlaps by default from its first version on: DeepSpeed 0.3.11 to 0.6 (runtime/zero/constants.py,
// ZERO3_OPTIMIZATION_OVERLAP_COMM_DEFAULT), later runtime/zero/config.py (overlap_comm_valid). The next weights are
// gathered on a stream of their own: runtime/zero/parameter_offload.py (DeepSpeedZeRoOffload) and
// partitioned_param_coordinator.py (fetch_sub_module).
Overlaps overlaps_of(const Settings& settings, std::int64_t stage) {
  const Names kOverlap = {"zero_optimization.overlap_comm"};
  const bool on = settings.has(kOverlap) ? settings.on(kOverlap) : stage == 3;
  const bool prefetches =
      settings.number({"zero_optimization.stage3_prefetch_bucket_size", "zero_optimization.prefetch_bucket_size"})
          .value_or(1) > 0;
  return {.gradients = on && stage != 1, .parameters = on && stage == 3 && prefetches};
}

// BF16_Optimizer (runtime/bf16_optimizer.py, backward and update_hp_grads) keeps the gradients of the last pass beside
// their sums. engine.py chooses it (get_data_types, _do_optimizer_sanity_check): without ZeRO, where fp32 is the
// default type and later versions stay in bf16, and at stage 1 with fp32 unless the optimizer is on the host. ZeRO's
// own optimizers keep the stated type. In fp16 they add up in fp32 what is made and reduced in 16 bits.
void map_kept_gradients(const Settings& settings, Report& report) {
  constexpr const char* kGradients = "precision_recipe.gradients";
  const Names kKept = {"data_types.grad_accum_dtype"};
  const std::string stated = settings.text(kKept).value_or("");
  const bool brain = report.at("precision") == "bf16";
  const bool wide = stated == "fp32" || stated == "float32" || stated == "float";
  const bool on_host = settings.on({"zero_optimization.cpu_offload"}) ||
                       settings.text({"zero_optimization.offload_optimizer.device"}).value_or("none") != "none";
  const std::int64_t stage = zero_stage(settings);
  if (brain && stage == 0 && stated.empty()) return report.assume(kGradients, "fp32", kSumsOfBrain);
  if (brain && wide && (stage == 0 || (stage == 1 && !on_host)))
    return report.map(kGradients, 6, settings.from(kKept) + ", beside the gradients in bf16");
  if (wide && report.at("precision") == "fp16") return report.map(kGradients, 6, settings.from(kKept));
  if (wide) report.map(kGradients, "fp32", settings.from(kKept));
  if (stated == "bf16" || stated == "fp16") report.map(kGradients, stated, settings.from(kKept));
}

void map_offloads(const Settings& settings, std::int64_t stage, Report& report) {
  const auto device = [&](const char* section) {
    const std::string key = std::string("zero_optimization.") + section;
    return settings.text({key + ".device"}).value_or("none");
  };
  if (const std::string name = device("offload_optimizer"); name != "none")
    map_offload("optimizer states", name, "zero_optimization.offload_optimizer", report);
  const auto part = settings.number({"zero_optimization.offload_optimizer.ratio"});
  if (part && *part > 0 && *part < 1 && report.at("offload.optimizer") == "cpu")
    report.map("offload.optimizer", *part, "zero_optimization.offload_optimizer.ratio");
  const char *const kSection = "zero_optimization.offload_param", *const kOld = "zero_optimization.cpu_offload_params";
  if (const std::string name = device("offload_param"); name != "none") map_parameters(name, kSection, stage, report);
  if (settings.on({"zero_optimization.cpu_offload"}))
    map_offload("optimizer states", "cpu", "zero_optimization.cpu_offload", report);
  if (settings.on({kOld})) map_parameters("cpu", kOld, stage, report);
}

std::optional<Json> take_deepspeed_object(Json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_object()) return std::nullopt;
  Json taken = std::move(*found);
  document.erase(key);
  return taken;
}

void open_deepspeed_file(const std::string& folder, Json& document) {
  const auto named = document.find("deepspeed");
  if (named == document.end() || !named->is_string()) return;
  const auto path = near_file(named->get<std::string>(), folder.empty() ? "." : folder);
  Findings unread;
  const auto text = path ? read_text_file(*path, path->string(), unread) : std::nullopt;
  auto content = text ? parse_json(*text, path->string(), unread) : std::nullopt;
  if (content && content->is_object()) *named = std::move(*content);
}

void map_deepspeed(const Settings& settings, Report& report) {
  map_types(settings, report);
  const std::int64_t stage = zero_stage(settings);
  if (stage == 0 && report.at("precision") == "bf16")
    report.map("optimizer.zero_stage", 1, kBrainWithoutZero);
  else
    report.map("optimizer.zero_stage", stage, "zero_optimization.stage");
  const auto [gradients, parameters] = overlaps_of(settings, stage);
  const bool stated = settings.has({"zero_optimization.overlap_comm"});
  const std::string from = "zero_optimization.overlap_comm" + std::string(stage == 1 ? ", which stage 1 ignores" : "");
  report.map("overlap.grad_reduce", gradients,
             stated ? from : "the default of zero_optimization.overlap_comm, on for stage 3 only");
  if (stage == 3)
    report.map("overlap.param_gather", parameters,
               "zero_optimization.overlap_comm, on by default for stage 3, and stage3_prefetch_bucket_size");
  if (const auto name = settings.text({"optimizer.type"})) map_optimizer_name(*name, "optimizer.type", report);
  map_offloads(settings, stage, report);
  // deepspeed/runtime/zero/mics.py: weights are sharded over groups of so many ranks, which reduce one after the other.
  if (const auto ranks = settings.whole({"zero_optimization.mics_shard_size"}); ranks.value_or(0) > 0)
    report.refuse("zero_optimization.mics_shard_size", "MiCS: replicas of sharded weights");
  map_kept_gradients(settings, report);
  note_unknown_zero_keys(settings, report);
  settings.sort_rest(kDeepSpeedKeys, Unknown::kByName);
}

bool is_deepspeed(const Json& document) {
  if (!document.is_object()) return false;
  for (const char* key : {"train_batch_size", "train_micro_batch_size_per_gpu", "zero_optimization", "fp16", "bf16"})
    if (document.contains(key)) return true;
  return false;
}

void read_deepspeed(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "DeepSpeed";
  const Settings settings(document, report);
  report.ask("model", "a DeepSpeed configuration holds no model; state --model");
  report.ask("batch.sequence_length", "a DeepSpeed configuration holds no sequence length");
  if (gpus) report.map("gpus", *gpus, "the command line");
  const char *const all = "train_batch_size", *const micro = "train_micro_batch_size_per_gpu",
                    *const accumulation = "gradient_accumulation_steps";
  const Names kMicro = {micro}, kSteps = {accumulation};
  auto steps = settings.whole(kSteps);
  // deepspeed/runtime/config.py, _set_batch_related_parameters: one accumulation where one of the others stands alone.
  if (settings.whole({all}).has_value() != settings.whole({micro}).has_value() &&
      settings.has({all}) != settings.has({micro}) && !settings.has({accumulation})) {
    steps = 1;
    report.approximate(accumulation,
                       "1, as DeepSpeed has it beside one key of the batch alone, unless --micro-batch "
                       "says otherwise");
  }
  map_data_batch({.micro = settings.whole(kMicro),
                  .accumulation = steps,
                  .global = settings.whole({all}),
                  .from = "train_batch_size, train_micro_batch_size_per_gpu",
                  .open_micro = is_auto(settings, kMicro) ? kAuto : "",
                  .open_accumulation = is_auto(settings, kSteps) ? kAuto : ""},
                 gpus, 1, report);
  report.assume("runtime", zero_stage(settings) == 3 ? "deepspeed-zero3-2021" : "pytorch-fsdp",
                "the nearest runtime of data parallelism");
  map_deepspeed(settings, report);
}

}  // namespace foretoken::io::launch::deepspeed

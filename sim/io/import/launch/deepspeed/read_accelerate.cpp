// Makes a scenario of a configuration of accelerate, which holds the distribution only.
//
// Names and defaults: huggingface/accelerate, src/accelerate/commands/config/config_args.py and
// src/accelerate/utils/dataclasses.py (FullyShardedDataParallelPlugin).
#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::deepspeed {
namespace {

constexpr KeyRule kAccelerateKeys[] = {
    {"use_kt kt_* kt_config.*", "KTransformers: experts on the CPU", true},
    {"use_cpu", "a training on the CPU; only GPUs are modelled", true},
    {"tpu_name commands command_file tpu_use_*", "it counts for TPUs only"},
    {"iam_role_name ec2_instance_type sagemaker_* image_uri profile region base_job_name num_processes_*",
     "SageMaker launch", true},
    {"deepspeed_config.zero_optimization* deepspeed_config.fp16* deepspeed_config.bf16* deepspeed_config.optimizer.*",
     "accelerate reads no sections of DeepSpeed here; they belong in a file of deepspeed_config_file", true},
    {"megatron_lm_config.* ipex_config.* mpirun_config.*", "another launcher", true},
    {"max_restarts monitor_interval num_cpu_threads_per_process role log_dir tee module no_python "
     "compute_environment same_network rdzv_* machine_rank main_* debug tpu_* downcast_bf16 gpu_ids "
     "fsdp_config.* deepspeed_config.* fp8_config.* parallelism_config.* enable_cpu_affinity dynamo_* "
     "same_network main_process_ip main_process_port deepspeed_fields_from_accelerate_config"}};

// Of the second version whether weights are sharded again.
std::int64_t stage_of_fsdp(const Settings& settings) {
  const std::string strategy = settings.text({"fsdp_config.fsdp_sharding_strategy"}).value_or("FULL_SHARD");
  if (const std::int64_t stage = stage_of_strategy(strategy).value_or(3); stage != 3) return stage;
  const auto again = settings.text({"fsdp_config.fsdp_reshard_after_forward"});
  if (!again || *again == "FULL_SHARD") return 3;
  return *again == "SHARD_GRAD_OP" || !switch_of(*again).value_or(true) ? 2 : 3;
}

void map_accelerate_fsdp(const Settings& settings, Report& report) {
  note_replicas(settings.text({"fsdp_config.fsdp_sharding_strategy"}).value_or(""), "fsdp_config", report);
  note_order_of_gathers(settings);
  const std::int64_t stage = stage_of_fsdp(settings);
  note_units(settings, stage);
  map_sharding(stage, "fsdp_config", report);
  report.map("recompute.granularity", settings.on({"fsdp_config.fsdp_activation_checkpointing"}) ? "full" : "none",
             "fsdp_config.fsdp_activation_checkpointing");
  if (settings.on({"fsdp_config.fsdp_offload_params"}))
    map_offload("parameters", "cpu", "fsdp_config.fsdp_offload_params", report);
}

std::optional<Json> named_deepspeed(const Settings& settings, const std::filesystem::path& path) {
  const auto name = settings.text({"deepspeed_config.deepspeed_config_file"});
  if (!name) return std::nullopt;
  Findings unread;
  const std::string folder = path.parent_path().string();
  const auto file = near_file(*name, folder.empty() ? "." : folder);
  const auto text = file ? read_text_file(*file, file->string(), unread) : std::nullopt;
  const auto document = text ? parse_json(*text, file->string(), unread) : std::nullopt;
  return document ? std::optional(as_texts(Json(*document))) : std::nullopt;
}

void map_named_deepspeed(const Settings& file, Report& report) {
  const auto micro = file.whole({"train_micro_batch_size_per_gpu"}), all = file.whole({"train_batch_size"}),
             accumulation = file.whole({"gradient_accumulation_steps"});
  if (micro || all)
    map_data_batch({micro, accumulation, all, "the DeepSpeed file"}, report.whole("gpus"), 1, report);
  else if (accumulation)
    report.accumulation = *accumulation;
  map_deepspeed(file, report);
}

void map_accelerate_deepspeed(const Settings& settings, const std::filesystem::path& path, Report& report) {
  const auto file = settings.text({"deepspeed_config.deepspeed_config_file"});
  if (const auto document = named_deepspeed(settings, path))
    return map_named_deepspeed(Settings(*document, report), report);
  if (file && map_named_zero(*file, report)) return;
  if (file)
    return report.ask("optimizer.zero_stage", printable(*file, 80) + ", which decides about ZeRO, is not there");
  report.accumulation = settings.whole({"deepspeed_config.gradient_accumulation_steps"});
  const std::int64_t stage = settings.whole({"deepspeed_config.zero_stage"}).value_or(2);
  map_sharding(stage, "deepspeed_config.zero_stage", report);
  const auto device = [&](const char* key) { return settings.text({key}).value_or("none"); };
  if (const std::string name = device("deepspeed_config.offload_optimizer_device"); name != "none")
    map_offload("optimizer states", name, "deepspeed_config.offload_optimizer_device", report);
  const std::string moved = device("deepspeed_config.offload_param_device");
  if (moved != "none" && stage != 3)
    report.approximate("deepspeed_config.offload_param_device", "parameters leave the GPU at stage 3 only");
  else if (moved != "none")
    map_offload("parameters", moved, "deepspeed_config.offload_param_device", report);
}

// Ulysses shares the heads: cp_backend "deepspeed" at first, later sp_size, of every backend. The two degrees exclude
// each other (src/accelerate/parallelism_config.py).
void map_ulysses(const Settings& settings) {
  Report& report = settings.report();
  const Names kSize = {"parallelism_config.parallelism_config_sp_size"};
  const Names kBackend = {"parallelism_config.parallelism_config_cp_backend"};
  const std::int64_t size = settings.whole(kSize).value_or(1);
  const std::int64_t context = report.whole("parallelism.context").value_or(1);
  if (size > 1 && context > 1)
    return report.refuse(settings.from(kSize), "it excludes parallelism_config_cp_size; the run would stop");
  const std::string backend = settings.text(kBackend).value_or("torch");
  if (size > 1) report.map("parallelism.context", size, settings.from(kSize));
  if (size > 1 || (context > 1 && backend == "deepspeed"))
    return report.map("parallelism.context_exchange", "all-to-all", settings.from(size > 1 ? kSize : kBackend));
  if (context > 1 && backend != "torch")
    report.refuse(settings.from(kBackend), "expected torch or deepspeed, found " + in_quotes(backend));
}

void map_accelerate_degrees(const Settings& settings) {
  constexpr std::pair<const char*, const char*> kDegrees[] = {
      {"parallelism_config.parallelism_config_tp_size", "parallelism.tensor"},
      {"parallelism_config.parallelism_config_cp_size", "parallelism.context"}};
  for (const auto& [name, key] : kDegrees) (void)settings.map_whole({name}, key);
  map_ulysses(settings);
  const Names kReplicas = {"parallelism_config.parallelism_config_dp_replicate_size"};
  const Names kShards = {"parallelism_config.parallelism_config_dp_shard_size"};
  const std::int64_t copies = settings.whole(kReplicas).value_or(1);
  if (copies > 1 && settings.whole(kShards).value_or(1) > 1)
    refuse_replicas(std::to_string(copies), settings.from(kReplicas), settings.report());
}

void map_accelerate_precision(const Settings& settings, Report& report) {
  const std::string type = lower_case(settings.text({"mixed_precision"}).value_or("no"));
  if (type == "bf16" || type == "fp16") return report.map("precision", type, "mixed_precision");
  if (type == "fp8") {
    report.map("precision", "fp8", "mixed_precision");
    return report.assume("precision_recipe.fp8_recipe", "delayed", "accelerate's default recipe");
  }
  report.ask("precision", "mixed_precision \"no\" is the type in which the model is loaded");
}

}  // namespace

bool is_accelerate(const Json& document) {
  return document.is_object() && (document.contains("distributed_type") || document.contains("compute_environment")) &&
         (document.contains("mixed_precision") || document.contains("num_machines") ||
          document.contains("num_processes"));
}

void read_accelerate(const Json& document, const std::filesystem::path& path, std::optional<std::int64_t> gpus,
                     Report& report) {
  report.framework = "accelerate";
  const Settings settings(document, report);
  report.ask("model", "accelerate's files hold the distribution only; state --model");
  report.ask("batch.micro", "accelerate's files hold no batch");
  report.ask("batch.sequence_length", "accelerate's files hold no sequence length");
  const auto processes = settings.whole({"num_processes"});
  const std::int64_t machines = settings.whole({"num_machines"}).value_or(0);
  if (processes && machines > 0 && *processes % machines == 0) report.gpus_of_machine = *processes / machines;
  if (const auto all = gpus ? gpus : processes)
    report.map("gpus", *all, gpus ? "the command line" : "num_processes, of all machines together");
  const std::string type = settings.text({"distributed_type"}).value_or("NO");
  map_accelerate_precision(settings, report);
  map_accelerate_degrees(settings);
  if (path.generic_string().find("ktransformers") != std::string::npos)
    report.refuse("KTransformers", "experts on the CPU");
  if (type == "FSDP")
    map_accelerate_fsdp(settings, report);
  else if (type == "DEEPSPEED")
    map_accelerate_deepspeed(settings, path, report);
  else if (type == "NO" || type == "MULTI_GPU" || type == "No")
    map_sharding(0, "distributed_type", report);
  else if (settings.text({"compute_environment"}).value_or("") == "AMAZON_SAGEMAKER")
    report.refuse("compute_environment", "SageMaker launch");
  else
    report.refuse("distributed_type", "found " + in_quotes(type) + ", which is not modelled");
  if (!report.accumulation) report.ask("batch.global", "accelerate's files hold no batch");
  settings.sort_rest(kAccelerateKeys);
}

}  // namespace foretoken::io::launch::deepspeed

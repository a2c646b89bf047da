// Writes a launch script of Megatron-DeepSpeed with its DeepSpeed configuration.
//
// Flags: deepspeedai/Megatron-DeepSpeed, megatron/arguments.py; configuration: DeepSpeed's config-json documentation.
#include <fmt/format.h>

#include <algorithm>

#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"

namespace foretoken::io {
namespace {

constexpr const char* kConfigName = "ds_config.json";

/// Flags of Megatron-Core that this fork lacks; DeepSpeed does their part, or nothing does.
constexpr std::string_view kCoreFlags[] = {"--use-distributed-optimizer",
                                           "--use-megatron-fsdp",
                                           "--data-parallel-sharding-strategy",
                                           "--attention-backend",
                                           "--overlap-param-gather",
                                           "--optimizer-cpu-offload",
                                           "--optimizer-offload-fraction",
                                           "--use-precision-aware-optimizer",
                                           "--cpu-offloading",
                                           "--ckpt-format",
                                           "--tokenizer-type"};

bool of_core_only(const std::string& flag) {
  return std::ranges::any_of(kCoreFlags, [&](std::string_view core) { return flag.starts_with(core); });
}

nlohmann::ordered_json config_of_job(const job::Job& job) {
  nlohmann::ordered_json config = {{"train_batch_size", job.batch.global},
                                   {"train_micro_batch_size_per_gpu", job.batch.micro},
                                   {"gradient_accumulation_steps", job.microbatches()},
                                   {"zero_optimization", {{"stage", job.optimizer.zero_stage}}}};
  config["zero_optimization"]["overlap_comm"] = job.overlap.grad_reduce;
  const auto place = [](const job::Offloaded& part) { return part.to == job::Tier::kDisk ? "nvme" : "cpu"; };
  if (job.offload.optimizer.any())
    config["zero_optimization"]["offload_optimizer"]["device"] = place(job.offload.optimizer);
  if (job.offload.parameters.any())
    config["zero_optimization"]["offload_param"]["device"] = place(job.offload.parameters);
  const char* const type = job.precision == Precision::kFp16 ? "fp16" : "bf16";
  if (!is_wide(job.precision)) config[type] = {{"enabled", true}};
  if (job.recipe.extra_gradient_bytes > 0) config["data_types"] = {{"grad_accum_dtype", "fp32"}};
  return config;
}

}  // namespace

std::string write_deepspeed(const job::Job& job, const nlohmann::json& scenario) {
  std::string text =
      "#!/bin/bash\n# A launch of Megatron-DeepSpeed, written by foretoken export. Replace data and tokenizer.\n";
  text += own_lines_of(scenario, job.gpus);
  text += fmt::format("cat <<EOT > {}\n{}\nEOT\n", kConfigName, config_of_job(job).dump(2));
  const int per_node = std::min(job.gpus, job.cluster.gpus_per_node);
  text += fmt::format("deepspeed --num_nodes {} --num_gpus {} pretrain_gpt.py", (job.gpus + per_node - 1) / per_node,
                      per_node);
  const std::vector<std::string> command = megatron_command(job);
  for (std::size_t i = 1; i < command.size(); ++i)
    if (!of_core_only(command[i])) text += " \\\n  " + command[i];
  if (job.model.positions == model::Positions::kAlibi) text += " \\\n  --position-embedding-type alibi";
  if (job.model.embedding_norm) text += " \\\n  --embed-layernorm";
  if (job.attention == model::AttentionKind::kFlash) text += " \\\n  --use-flash-attn-v2";
  if (job.parallelism.embedding_and_head_as_layers) text += " \\\n  --pp-partition-method 'type:transformer|embedding'";
  if (job.parallelism.pipeline == 1) text += " \\\n  --no-pipeline-parallel";
  return text + fmt::format(" \\\n  --deepspeed \\\n  --deepspeed_config {} \\\n  --zero-stage {}\n", kConfigName,
                            job.optimizer.zero_stage);
}

}  // namespace foretoken::io

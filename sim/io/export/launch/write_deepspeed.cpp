// Writes a launch script of Megatron-DeepSpeed with its DeepSpeed configuration.
//
// Flags: megatron/arguments.py of deepspeedai/Megatron-DeepSpeed and, for ALiBi, a norm behind the embedding or an
// embedding that counts as a layer, of bigscience-workshop/Megatron-DeepSpeed and BLOOM's launch script. Configuration:
// DeepSpeed's config-json documentation. DeepSpeed's pipeline has one chunk a stage (megatron/training.py gives it the
// first model only), so no flag of virtual stages is written.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Positions;
using model::RecomputeGranularity;

constexpr const char* kConfigName = "ds_config.json";

/// A fork of Megatron-LM that runs on DeepSpeed.
struct Fork {
  const char* repository;
  std::string_view shared;  ///< flags of Megatron-LM that the fork has under the same name and with the same values
  std::vector<std::string> (*own)(const job::Job& job);  ///< its other flags
};

std::vector<std::string> flags_of_microsoft(const job::Job& job) {
  const model::Transformer& m = job.model;
  std::vector<std::string> flags;
  if (m.kv_heads != m.heads) flags.push_back(fmt::format("--num-key-value-heads {}", m.kv_heads));
  if (m.positions == Positions::kRotary) flags.emplace_back("--use-rotary-position-embeddings");
  if (m.positions == Positions::kNone) flags.emplace_back("--no-position-embedding");
  if (m.norm == model::Norm::kRmsNorm) flags.emplace_back("--normalization rmsnorm");
  if (m.experts) {
    flags.push_back(fmt::format("--topk {}", m.experts->per_token));
    flags.push_back(fmt::format("--expert-interval {}", m.experts->every));
    flags.push_back(fmt::format("--moe-expert-parallel-size {}", job.parallelism.expert));
    if (job.parallelism.expert_tensor > 1) flags.emplace_back("--enable-expert-tensor-parallelism");
    const auto factor = job.routing.capacity_factor;
    flags.push_back(factor ? fmt::format("--moe-train-capacity-factor {}", *factor) : "--disable-moe-token-dropping");
  }
  if (job.precision == Precision::kFp8) flags.emplace_back("--transformer-impl transformer_engine");
  if (job.precision == Precision::kFp8) flags.emplace_back("--fp8-hybrid");
  if (job.attention == model::AttentionKind::kFlash) flags.emplace_back("--use-flash-attn-v2");
  if (job.parallelism.pipeline == 1) flags.emplace_back("--no-pipeline-parallel");
  return flags;
}

std::vector<std::string> flags_of_bigscience(const job::Job& job) {
  const model::Transformer& m = job.model;
  std::vector<std::string> flags = {fmt::format("--pad-vocab-size-to {}", m.vocabulary)};
  if (m.positions == Positions::kAlibi) flags.emplace_back("--position-embedding-type alibi");
  if (m.positions == Positions::kRotary) flags.emplace_back("--position-embedding-type rotary");
  // It takes a number of positions only where they have weights or slopes.
  if (m.positions != Positions::kRotary)
    flags.push_back(fmt::format("--max-position-embeddings {}", std::max(m.max_positions, job.batch.sequence_length)));
  if (m.embedding_norm) flags.emplace_back("--embed-layernorm");
  if (m.gated())
    flags.push_back(fmt::format("--glu-activation {} \\\n  --no-bias-gelu-fusion",
                                m.activation == Activation::kSwiGlu ? "swiglu" : "geglu"));
  if (job.recompute.granularity == RecomputeGranularity::kFull)
    flags.push_back(fmt::format("--checkpoint-activations \\\n  --checkpoint-num-layers {}", job.recompute.layers));
  if (job.parallelism.embedding_and_head_as_layers)
    flags.emplace_back("--pp-partition-method 'type:transformer|embedding'");
  return flags;
}

constexpr Fork kMicrosoft = {
    "deepspeedai/Megatron-DeepSpeed",
    " --num-layers --hidden-size --num-attention-heads --ffn-hidden-size --kv-channels --tokenizer-type --vocab-size "
    "--seq-length --max-position-embeddings --swiglu --squared-relu --untie-embeddings-and-output-weights "
    "--disable-bias-linear --hidden-dropout --attention-dropout --num-experts --tensor-model-parallel-size "
    "--sequence-parallel --pipeline-model-parallel-size --micro-batch-size --global-batch-size --train-samples --fp16 "
    "--bf16 --accumulate-allreduce-grads-in-fp32 --recompute-granularity --recompute-method --recompute-num-layers "
    "--optimizer --bert-no-binary-head ",
    flags_of_microsoft};
constexpr Fork kBigScience = {
    "bigscience-workshop/Megatron-DeepSpeed",
    " --num-layers --hidden-size --num-attention-heads --ffn-hidden-size --kv-channels --seq-length --hidden-dropout "
    "--attention-dropout --tensor-model-parallel-size --pipeline-model-parallel-size --micro-batch-size "
    "--global-batch-size --train-samples --fp16 --bf16 --accumulate-allreduce-grads-in-fp32 --optimizer "
    "--bert-no-binary-head ",
    flags_of_bigscience};

const Fork& fork_of(const job::Job& job) {
  const bool theirs = job.model.positions == Positions::kAlibi || (job.model.embedding_norm && !job.model.encoder) ||
                      job.parallelism.embedding_and_head_as_layers;
  return theirs ? kBigScience : kMicrosoft;
}

bool has(const Fork& fork, const std::string& flag) { return holds_word(fork.shared, flag.substr(0, flag.find(' '))); }

nlohmann::ordered_json config_of_job(const job::Job& job) {
  nlohmann::ordered_json config = {{"train_batch_size", job.batch.global},
                                   {"train_micro_batch_size_per_gpu", job.batch.micro},
                                   {"gradient_accumulation_steps", job.microbatches()},
                                   {"zero_optimization", {{"stage", job.optimizer.zero_stage}}}};
  config["zero_optimization"]["overlap_comm"] = job.overlap.grad_reduce;
  // DeepSpeed gathers no weights ahead without a bucket for them: partitioned_param_coordinator.py.
  if (job.optimizer.zero_stage == 3 && job.overlap.grad_reduce && !job.overlap.param_gather)
    config["zero_optimization"]["stage3_prefetch_bucket_size"] = 0;
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
  const Fork& fork = fork_of(job);
  std::string text = fmt::format(
      "#!/bin/bash\n# A launch of {}, written by foretoken export. Replace data and tokenizer.\n", fork.repository);
  text += own_lines_of(scenario, job.gpus);
  text += fmt::format("cat <<EOT > {}\n{}\nEOT\n", kConfigName, config_of_job(job).dump(2));
  const int per_node = std::min(job.gpus, job.cluster.gpus_per_node);
  text += fmt::format("deepspeed --num_nodes {} --num_gpus {} {}", (job.gpus + per_node - 1) / per_node, per_node,
                      megatron_program(job.model));
  for (const std::string& flag : megatron_command(job))
    if (has(fork, flag)) text += " \\\n  " + flag;
  for (const std::string& flag : fork.own(job)) text += " \\\n  " + flag;
  if (job.offload.optimizer.any()) text += " \\\n  --cpu-optimizer";
  return text + fmt::format(" \\\n  --deepspeed \\\n  --deepspeed_config {} \\\n  --zero-stage {}\n", kConfigName,
                            job.optimizer.zero_stage);
}

}  // namespace foretoken::io

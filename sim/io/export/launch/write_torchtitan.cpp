// Writes a configuration of torchtitan. Its models are names in its code.
//
// Keys: pytorch/torchtitan, torchtitan/config/job_config.py.
#include <fmt/format.h>

#include <algorithm>

#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/write_launch.h"

namespace foretoken::io {
namespace {

struct Flavor {
  std::string_view model, name, flavor;
};
constexpr Flavor kFlavors[] = {{"llama-3-8b", "llama3", "8B"},     {"llama-3-70b", "llama3", "70B"},
                               {"llama-3-405b", "llama3", "405B"}, {"llama-2-7b", "llama2", "7B"},
                               {"llama-2-13b", "llama2", "13B"},   {"llama-2-70b", "llama2", "70B"},
                               {"qwen3-32b", "qwen3", "32B"}};

std::string flavor_text(const nlohmann::json& scenario) {
  const auto found = scenario.find("model");
  const std::string model = found != scenario.end() && found->is_string() ? found->get<std::string>() : "";
  for (const Flavor& flavor : kFlavors)
    if (model == flavor.model || model.ends_with("/" + std::string(flavor.model) + ".json"))
      return fmt::format("name = \"{}\"\nflavor = \"{}\"\n", flavor.name, flavor.flavor);
  return "name = \"custom\"\nflavor = \"unknown\"\n";
}

std::string schedule_text(const job::Job& job) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"1f1b", "1F1B"},           {"interleaved-1f1b", "Interleaved1F1B"},
      {"gpipe", "GPipe"},         {"interleaved-zb", "InterleavedZeroBubble"},
      {"zb-v", "ZBVZeroBubble"},  {"looped-bfs", "LoopedBFS"},
      {"dualpipe-v", "DualPipeV"}};
  if (job.parallelism.pipeline == 1) return "";
  for (const auto& [ours, theirs] : kNames)
    if (job.schedule.name == ours)
      return fmt::format("pipeline_parallel_schedule = \"{}\"\npipeline_parallel_microbatch_size = {}\n", theirs,
                         job.batch.micro);
  return "";
}

std::string checkpoint_text(const job::Job& job) {
  const job::Recompute& recompute = job.recompute;
  if (recompute.granularity == model::RecomputeGranularity::kNone) return "mode = \"none\"\n";
  if (recompute.granularity == model::RecomputeGranularity::kFull && !recompute.block) return "mode = \"full\"\n";
  if (recompute.modules.by_op) return "mode = \"selective\"\nselective_ac_option = \"op\"\n";
  const auto stages = static_cast<std::int64_t>(job.parallelism.pipeline);
  const std::int64_t every = recompute.block && recompute.layers > 0
                                 ? std::max<std::int64_t>(1, job.model.layers / stages / recompute.layers)
                                 : 1;
  return fmt::format("mode = \"selective\"\nselective_ac_option = \"{}\"\n", every);
}

// The types of mixed precision, where they are not torchtitan's defaults.
std::string types_text(const job::Job& job) {
  const job::PrecisionRecipe& recipe = job.recipe;
  if (job.precision == Precision::kFp32) return "mixed_precision_param = \"float32\"\n";
  std::string text;
  if (recipe.weight_bytes == 2 && recipe.master_bytes == 0 && recipe.moment_bytes == 4)
    text += "dtype = \"bfloat16\"\n";
  if (recipe.reduce_bytes == 2) text += "mixed_precision_reduce = \"bfloat16\"\n";
  return text;
}

}  // namespace

std::string write_torchtitan(const job::Job& job, const nlohmann::json& scenario) {
  const job::Parallelism& p = job.parallelism;
  const bool compiled = job.compiles_layers();
  std::string text =
      "# A configuration of torchtitan, written by foretoken export.\n" + own_lines_of(scenario, job.gpus);
  text += "\n[model]\n" + flavor_text(scenario);
  const std::int64_t local = p.pipeline > 1 ? job.batch.global / p.data : job.batch.micro;
  text += fmt::format("\n[training]\nlocal_batch_size = {}\nglobal_batch_size = {}\nseq_len = {}\n", local,
                      job.batch.global, job.batch.sequence_length);
  text += types_text(job);
  text +=
      fmt::format("\n[parallelism]\ndata_parallel_shard_degree = {}\ntensor_parallel_degree = {}\n", p.data, p.tensor);
  text += fmt::format("pipeline_parallel_degree = {}\ncontext_parallel_degree = {}\n", p.pipeline, p.context);
  if (p.expert > 1) text += fmt::format("expert_parallel_degree = {}\n", p.expert);
  if (job.overlap.tensor_parallel && compiled) text += "enable_async_tensor_parallel = true\n";
  if (job.optimizer.zero_stage == 2) text += "fsdp_reshard_after_forward = \"never\"\n";
  text += schedule_text(job);
  text += "\n[activation_checkpoint]\n" + checkpoint_text(job);
  text += fmt::format("\n[compile]\nenable = {}\n", compiled);
  if (job.precision == Precision::kFp8) text += "\n[float8]\nenable_float8_linear = true\n";
  return text + "\n[optimizer]\nname = \"AdamW\"\n";
}

}  // namespace foretoken::io

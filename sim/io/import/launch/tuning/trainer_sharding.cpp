// Decides how ranks of the Trainer and of like programs share weights and optimizer states.
#include "sim/io/import/launch/tuning/trainer_sharding.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/megatron/deepspeed_config.h"

namespace foretoken::io::launch::tuning {
namespace {

// Decides about the sharding of a program of the user's own, whose flags state neither DeepSpeed nor FSDP.
void map_own_sharding(const Settings& settings, std::optional<std::int64_t> gpus, Report& report) {
  const std::string replicated = settings.from({"ddp", "use_ddp", "multi_gpu"});
  if (!replicated.empty() && settings.on({replicated})) return map_sharding(0, replicated, report);
  if (!report.has("runtime"))
    report.assume("runtime", "pytorch-fsdp", "the runtime of PyTorch with data parallelism only");
  if (gpus == 1) return report.assume("optimizer.zero_stage", 0, "one GPU holds everything");
  report.ask("optimizer.zero_stage",
             "no flag states a stage of ZeRO or the sharding of FSDP; state --set optimizer.zero_stage=N, "
             "with 0 where every rank holds everything");
}

// The devices of options win over what a name says. Without a DeepSpeed file they are accelerate's
// --offload_optimizer_device and --offload_param_device, or those of a program that names them alike:
// accelerate/commands/launch.py. Parameters move at stage 3 alone.
void map_stated_devices(const Settings& settings, Report& report) {
  constexpr std::string_view kBuffers =
      "offload_optimizer_nvme_path offload_optimizer_pin_memory offload_optimizer_buffer_count "
      "offload_optimizer_fast_init offload_param_nvme_path offload_param_pin_memory offload_param_buffer_size "
      "offload_param_buffer_count offload_param_max_in_cpu aio_*";
  for (const auto& [key, value] : settings.leaves())
    if (lists_key(kBuffers, key) && settings.at(key) != nullptr)
      report.approximate(printable(key, 80), "buffers of offloading are those of the runtime");
  const char* const ratio = "offload_optimizer_ratio";
  if (settings.number({ratio}).value_or(1) != 1)
    report.refuse(ratio, "a part of the optimizer's states on the host, in a program of its own");
  struct Moved {
    const char *key, *part, *what;
  };
  for (const auto& [key, part, what] : {Moved{"offload_optimizer_device", "offload.optimizer", "optimizer states"},
                                        Moved{"offload_param_device", "offload.parameters", "parameters"}}) {
    const bool none = settings.says_none(key);
    const auto device = settings.text({key});
    if (none) report.forget(part);
    if (none || !device) continue;
    const bool moves = std::string_view(what) == "optimizer states" || report.whole("optimizer.zero_stage") == 3;
    if (moves)
      map_offload(what, lower_case(*device), key, report);
    else
      report.ignore(key, "");
  }
}

}  // namespace

void map_trainer_sharding(const Settings& settings, const Json* deepspeed, std::optional<std::int64_t> gpus,
                          Defaults defaults, Report& report) {
  if (deepspeed != nullptr) {
    report.assume("runtime", "pytorch-fsdp", "the runtime of PyTorch with data parallelism only");
    megatron::map_deepspeed_config(*deepspeed, report);
    if (!report.has("optimizer.zero_stage") && !report.asks("optimizer.zero_stage"))
      map_sharding(0, "the DeepSpeed configuration states no zero_optimization", report);
    return;
  }
  if (const auto file = settings.text({"deepspeed"})) {
    if (map_named_zero(*file, report)) return map_stated_devices(settings, report);
    return report.ask("optimizer.zero_stage", "the file " + in_quotes(*file) +
                                                  " decides about ZeRO; it is not there, and its name says no stage");
  }
  const Json* const unnamed = settings.at("deepspeed");
  if (unnamed != nullptr && unnamed->is_string() && unnamed->get_ref<const std::string&>().starts_with('<'))
    return report.ask("optimizer.zero_stage", "a file of DeepSpeed decides about ZeRO, and nothing says its name");
  auto fsdp = settings.text({"fsdp"});
  if (fsdp && !switch_of(*fsdp).value_or(true)) fsdp.reset();  // --fsdp False
  if (!fsdp && defaults == Defaults::kUnknown) return map_own_sharding(settings, gpus, report);
  if (!fsdp) return map_sharding(0, "no fsdp and no deepspeed: every rank holds everything", report);
  const FsdpWords words = fsdp_words(*fsdp);
  note_replicas(words.strategy, "fsdp", report);
  const std::int64_t stage = stage_of_strategy(words.strategy).value_or(3);
  note_units(settings, stage, words);
  map_sharding(stage, "fsdp", report);
  if (words.moves_parameters) map_offload("parameters", "cpu", "fsdp", report);
  note_order_of_gathers(settings);
}

// Source: huggingface/alignment-handbook, scripts/README.md: accelerate launch --config_file
// recipes/accelerate_configs/deepspeed_zero3.yaml scripts/run_sft.py RECIPE. Recipes of huggingface/open-r1 and of TRL
// name their data as dataset_name: open-r1, README.md, accelerate launch --config_file=recipes/accelerate_configs/
// zero3.yaml src/open_r1/sft.py --config RECIPE.
void ask_for_sharding_of_handbook(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  const bool theirs =
      document.contains("dataset_mixer") || document.contains("dataset_mixture") || document.contains("dataset_name");
  if (!theirs || document.contains("deepspeed") || document.contains("fsdp") || gpus == 1) return;
  if (report.whole("optimizer.zero_stage") != 0) return;
  report.forget("optimizer.zero_stage");
  report.ask(
      "optimizer.zero_stage",
      "accelerate's file beside the recipe decides about ZeRO and FSDP; state --set optimizer.zero_stage=N, with 0 "
      "where every rank holds everything");
  if (report.at("precision_recipe.master") != "none") return;
  for (const char* part : {"weights", "gradients", "master"}) report.forget(std::string("precision_recipe.") + part);
  if (report.at("precision_recipe.moments") == "bf16") report.forget("precision_recipe.moments");
  if (report.at("precision_recipe").empty()) report.remove("precision_recipe");
  report.approximate("torch_dtype",
                     "DeepSpeed and FSDP keep copies in fp32, which are taken; without them state --set "
                     "precision_recipe.master=none, .gradients=bf16 and .moments=bf16");
}

// Source: transformers, integrations/deepspeed.py, HfTrainerDeepSpeedConfig.trainer_config_process.
void check_batch_of_deepspeed(const Settings& settings, const Json& deepspeed, Report& report) {
  Report unread;
  const Settings config(deepspeed, unread);
  const auto check = [&](const char* key, std::optional<std::int64_t> ours, const char* what) {
    const auto theirs = config.whole({key});
    if (!theirs || !ours || *theirs == *ours) return;
    report.refuse(key,
                  fmt::format("the DeepSpeed configuration says {}, {} {}; the Trainer stops where they differ: state "
                              "\"auto\" there",
                              *theirs, what, *ours));
  };
  check("train_micro_batch_size_per_gpu", report.whole("batch.micro"), "per_device_train_batch_size is");
  const Names kSteps = {"gradient_accumulation_steps"};
  const bool open = settings.has(kSteps) && !settings.whole(kSteps);
  if (!open) check("gradient_accumulation_steps", settings.whole(kSteps).value_or(1), "the arguments say");
  check("train_batch_size", report.whole("batch.global"), "the arguments make");
}

}  // namespace foretoken::io::launch::tuning

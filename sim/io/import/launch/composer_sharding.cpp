// Reads Composer's fsdp_config.
//
// Names and defaults: mosaicml/composer v0.12 to main, composer/utils/parallelism.py (FSDPConfig),
// composer/distributed/dist_strategy.py (prepare_fsdp_module), distributed/mosaic_parallelism.py (SHARDING_MAP,
// get_mixed_precision, get_cpu_offload) and core/state.py (_create_device_mesh).
#include "sim/io/import/launch/composer_sharding.h"

#include <fmt/format.h>

#include <optional>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/fsdp_keys.h"

namespace foretoken::io::launch {
namespace {

constexpr const char *kStrategyKey = "fsdp_config.sharding_strategy", *kTypesKey = "fsdp_config.mixed_precision";

bool has_16_bits(const std::string& type) {
  return type.find("16") != type.npos || type == "half" || type == "bfloat" || type == "amp";
}

void map_strategy(const Settings& settings, Report& report) {
  const std::string strategy = lower_case(settings.text({kStrategyKey}).value_or("FULL_SHARD"));
  note_replicas(strategy, kStrategyKey, report);
  const auto stage = stage_of_strategy(strategy);
  map_sharding(stage.value_or(3), kStrategyKey, report);
  if (!stage)
    report.refuse(kStrategyKey, "found " + in_quotes(printable(strategy, 40)) + ", which Composer does not have");
}

// Replicas make a second axis. Without them the shards are all GPUs.
void map_composer_degrees(const Settings& settings, Report& report) {
  const char *const kReplicas = "fsdp_config.data_parallel_replicate_degree",
                    *const kShards = "fsdp_config.data_parallel_shard_degree";
  const auto replicas = settings.whole({kReplicas}), shards = settings.whole({kShards});
  const std::int64_t copies = replicas.value_or(1), parts = shards.value_or(-1);
  if (parts == 1 && copies > 1) {
    map_sharding(0, kShards, report);
    if (copies <= kMostCount) report.map("gpus", copies, kReplicas);
  } else if (copies != 1) {
    refuse_replicas(replicas == -1 ? "several" : std::to_string(copies), kReplicas, report);
  } else if (parts > 0 && parts <= kMostCount) {
    report.map("gpus", parts, kShards);
  }
}

// Returns the types of gathered weights and of the reduction, each as text; none where the section leaves it open.
struct Types {
  std::optional<std::string> gathered{}, reduced{};
};

Types types_of(const Settings& settings, const std::string& precision, Report& report) {
  const Json* const stated = settings.document().at("fsdp_config").contains("mixed_precision")
                                 ? &settings.document().at("fsdp_config").at("mixed_precision")
                                 : nullptr;
  if (stated != nullptr && stated->is_object()) {
    (void)settings.text({"fsdp_config.mixed_precision.buffer_dtype"});
    const auto gathered = settings.text({"fsdp_config.mixed_precision.param_dtype"});
    // PyTorch reduces in the type of the weights unless told otherwise: fsdp/api.py, MixedPrecision.
    const auto reduced = settings.text({"fsdp_config.mixed_precision.reduce_dtype"});
    return {gathered, reduced ? reduced : gathered};
  }
  const std::string name = lower_case(settings.text({kTypesKey}).value_or("DEFAULT"));
  const std::string own = precision.find("fp8") != precision.npos ? "bf16" : precision;
  if (name == "pure") return {own, own};
  if (name == "full") return {};
  if (name != "default")
    report.refuse(kTypesKey, "expected DEFAULT, PURE or FULL, found " + in_quotes(printable(name, 40)));
  return {own, "fp32"};
}

void map_composer_types(const Settings& settings, const std::string& precision, Report& report) {
  const Types types = types_of(settings, precision, report);
  const bool narrow = precision.find("fp32") == precision.npos;
  const bool gathers_narrow = types.gathered && has_16_bits(*types.gathered);
  // The trainer's autocast keeps the products in 16 bits.
  if (narrow && !gathers_narrow)
    return report.refuse(kTypesKey,
                         "FULL: weights are gathered and gradients reduced in fp32 while products run in the trainer's "
                         "precision, which is not modelled; DEFAULT comes near");
  if (!narrow && gathers_narrow)
    return report.refuse(
        kTypesKey, "weights are gathered in 16 bits while the trainer's precision is fp32, which is not modelled");
  const bool short_reduce = gathers_narrow && has_16_bits(*types.reduced);
  if (short_reduce) report.map("precision_recipe.reduce", 2, kTypesKey);
  // PyTorch casts each shard of gradients to the type of the gathered weights: fsdp/_flat_param.py,
  // prepare_gradient_for_optim.
  const Names kKept = {"fsdp_config.keep_low_precision_grads"};
  if (!settings.on(kKept) || !gathers_narrow) return;
  report.map("precision_recipe.gradients", 2, settings.from(kKept));
  if (!short_reduce) report.map("precision_recipe.reduce", 4, kTypesKey);
}

void map_composer_offload(const Settings& settings, Report& report) {
  const char *const kParameters = "fsdp_config.cpu_offload", *const kActivations = "fsdp_config.activation_cpu_offload";
  // torch.distributed.algorithms._checkpoint.checkpoint_wrapper, offload_wrapper: save_on_cpu() copies in the stream of
  // the kernels.
  if (settings.on({kActivations}))
    report.refuse(kActivations,
                  "activations in the memory of the host: the GPU waits for each copy, which is not modelled");
  if (!settings.on({kParameters})) return;
  map_offload("parameters", "cpu", kParameters, report);
  report.refuse(kParameters,
                "Composer stops there (FSDP CPU Offload not supported yet); allowed, parameters and "
                "optimizer states are on the host");
}

void note_limits(const Settings& settings, Report& report) {
  for (const char* limit : {"fsdp_config.backward_prefetch_limit", "fsdp_config.forward_prefetch_limit"})
    if (settings.whole({limit}).value_or(1) != 1)
      report.approximate(limit, "one layer is gathered ahead; more of them take more memory");
}

}  // namespace

void map_composer_sharding(const Settings& settings, const std::string& precision, Report& report) {
  const auto section = settings.document().find("fsdp_config");
  if (section == settings.document().end() || !section->is_object())
    return map_sharding(0, "no fsdp_config: DDP", report);
  map_strategy(settings, report);
  map_composer_degrees(settings, report);
  map_composer_types(settings, precision, report);
  map_composer_offload(settings, report);
  note_order_of_gathers(settings);
  note_limits(settings, report);
  if (settings.has({"fsdp_config.auto_wrap"}) && !settings.on({"fsdp_config.auto_wrap"}))
    report.refuse("fsdp_config.auto_wrap", "the model's own code shares its weights, or nothing does");
}

}  // namespace foretoken::io::launch

// Maps the precision of a recipe of NeMo AutoModel: products, kept weights, states and reduced gradients.
//
// Sources: NVIDIA-NeMo/Automodel, components/distributed/{config,ddp,fsdp2,megatron_fsdp,model_parallelizer}.py and
// components/moe/parallelizer.py; NVIDIA/TransformerEngine, pytorch/optimizers/fused_adam.py.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/nemo/automodel_parts.h"

namespace foretoken::io::launch::nemo {
namespace {

// Returns PyTorch's type as a scenario spells it; empty for another type.
std::string short_type(const std::string& name) {
  const std::string plain = last_part(name);
  if (plain == "bf16" || plain == "bfloat16") return "bf16";
  if (plain == "fp32" || plain == "float32") return "fp32";
  if (plain == "fp16" || plain == "float16") return "fp16";
  return "";
}

// Returns the type that one of the keys states, `usual` where none does. Refuses a type that is not among `known`.
std::string type_or(const Settings& settings, Names names, std::string usual, std::string_view known, const char* what,
                    Report& report) {
  const auto stated = settings.text(names);
  if (!stated) return usual;
  std::string type = short_type(*stated);
  if (!type.empty() && known.find(type) != known.npos) return type;
  report.refuse(settings.from(names), std::string(what) + " in " + in_quotes(*stated) + " are not modelled");
  return usual;
}

bool is_fused_adam(const Settings& settings) {
  return last_part(settings.text({"optimizer._target_"}).value_or("")) == "FusedAdam";
}

// FusedAdam has a type for each moment, fp32 by default.
void map_moments(const Settings& settings, bool stated_alone, Report& report) {
  const Names kFirst = {"optimizer.exp_avg_dtype"}, kSecond = {"optimizer.exp_avg_sq_dtype"};
  const std::string first = type_or(settings, kFirst, "fp32", "bf16 fp16 fp32", "moments", report);
  const std::string second = type_or(settings, kSecond, "fp32", "bf16 fp16 fp32", "moments", report);
  std::string from = settings.from(kFirst);
  if (settings.has(kSecond)) from += (from.empty() ? "" : ", ") + settings.from(kSecond);
  if (from.empty() && stated_alone) return;
  if (from.empty()) from = "moments of FusedAdam are in fp32";
  constexpr int kMeanBytes = 3;  // of a moment in 16 bits and one in 32
  if ((first == "fp32") == (second == "fp32"))
    report.map("precision_recipe.moments", first, from);
  else
    report.map("precision_recipe.moments", kMeanBytes, from + ": the mean of 2 and 4 bytes");
}

// Weights in bf16 may have a copy in fp32, or its lower 16 bits alone. Weights in fp32 get a second copy.
void map_master(const Settings& settings, bool single, Report& report) {
  const bool copies = settings.on({"optimizer.master_weights"});
  const bool rest = settings.on({"optimizer.store_param_remainders"});
  (void)type_or(settings, {"optimizer.master_weight_dtype"}, "fp32", "fp32", "copies of weights", report);
  if (!copies) return;
  if (single)
    return report.approximate("optimizer.master_weights",
                              "FusedAdam copies weights in fp32, too: 4 bytes a parameter more than here");
  if (rest)
    report.map("precision_recipe.master", 2, "optimizer.store_param_remainders: the lower 16 bits of the copy");
  else
    report.map("precision_recipe.master", "fp32", "optimizer.master_weights");
}

// Megatron-FSDP reduces gradients in the type of the weights, and copies weights where the recipe asks for it.
void map_megatron(const Settings& settings, Report& report) {
  const Names kWide = {"distributed.grad_reduce_in_fp32", "distributed_config.grad_reduce_in_fp32"};
  const Names kCopies = {"distributed.preserve_fp32_weights", "distributed_config.preserve_fp32_weights"};
  if (settings.on(kWide)) {
    report.map("precision_recipe.gradients", "fp32", settings.from(kWide));
    report.map("precision_recipe.reduce", "fp32", settings.from(kWide));
  } else if (settings.has(kWide)) {
    report.map("precision_recipe.reduce", "bf16", settings.from(kWide));
  } else {
    report.assume("precision_recipe.reduce", "bf16", "grad_reduce_in_fp32 is off by default");
  }
  if (!settings.on(kCopies)) return;
  if (is_fused_adam(settings) && settings.on({"optimizer.master_weights"}))
    report.refuse(settings.from(kCopies), "a second copy of weights beside FusedAdam's master_weights");
  report.map("precision_recipe.master", "fp32", settings.from(kCopies));
  if (!is_fused_adam(settings))
    report.map("precision_recipe.moments", "fp32", settings.from(kCopies) + ": the optimizer steps on the copy");
}

// Weights in bf16 are kept without a copy in fp32, unless the optimizer or Megatron-FSDP has one. Gradients are cast
// before they are reduced.
void map_stored_bf16(const Settings& settings, const std::string& from, const Sharding& sharding, Report& report) {
  if (report.has("training")) return;
  if (is_fused_adam(settings)) map_moments(settings, false, report);
  map_weights_of_16_bits(from, report);
  if (is_fused_adam(settings)) map_master(settings, false, report);
  if (sharding.strategy == Strategy::kMegatronFsdp) map_megatron(settings, report);
}

// DDP has no policy of mixed precision: products of weights in fp32 run in fp32, but for autocast.
void map_single_under_ddp(const std::string& from, bool cast, bool eight, Report& report) {
  if (!cast && (eight || report.has("training")))
    return report.refuse(from, "DDP with weights in fp32 beside adapters or products in fp8 is not modelled");
  if (report.has("training")) return;
  if (!cast) return report.map("precision", "fp32", from + ": DDP has no policy of mixed precision");
  for (const char* part : {"weights", "gradients", "moments"})
    report.map(std::string("precision_recipe.") + part, "fp32", from);
  report.map("precision_recipe.master", "none", from + ": autocast makes no copy that stays");
}

void map_stored_fp32(const Settings& settings, const std::string& from, const Sharding& sharding, bool cast, bool eight,
                     Report& report) {
  if (sharding.strategy == Strategy::kMegatronFsdp)
    return report.refuse(from, "weights in fp32 under Megatron-FSDP, which has no policy of mixed precision");
  if (sharding.strategy == Strategy::kDdp)
    map_single_under_ddp(from, cast, eight, report);
  else if (report.has("training"))
    report.approximate(from, "frozen weights beside adapters are kept in 16 bits");
  if (report.has("training") || !is_fused_adam(settings)) return;
  map_moments(settings, true, report);
  map_master(settings, true, report);
}

// Beside experts a policy of their own counts first; early parallelizers of experts take no other.
void map_reduction(const Settings& settings, const Sharding& sharding, Report& report) {
  const Names kOwn = {"distributed.moe.mp_policy.reduce_dtype", "parallelizer.mp_policy.reduce_dtype"};
  const Names kCommon = {"distributed.mp_policy.reduce_dtype", "distributed_config.mp_policy.reduce_dtype"};
  if (report.has("training") || sharding.strategy != Strategy::kFsdp2) return;
  // The manager of 2025 reduced in bf16, the configuration of later versions in fp32. Experts: moe/parallelizer.py.
  const bool narrow = sharding.of_deepseek || (sharding.manager && !sharding.experts);
  const std::string usual = narrow ? "bf16" : "fp32";
  const std::string common = type_or(settings, kCommon, usual, "bf16 fp32", "reduced gradients", report);
  const std::string type = type_or(settings, kOwn, common, "bf16 fp32", "reduced gradients", report);
  const bool own = sharding.experts && settings.has(kOwn);
  if (own || settings.has(kCommon))
    report.map("precision_recipe.reduce", own ? type : common, settings.from(own ? kOwn : kCommon));
  else if (sharding.experts)
    report.assume("precision_recipe.reduce", usual, "the default of the parallelizer of experts");
  else
    report.assume("precision_recipe.reduce", usual,
                  sharding.manager ? "FSDP2Manager's default" : "FSDP2Config's default");
  if (!own && sharding.experts && sharding.manager && common != usual)
    report.refuse(settings.from(kCommon), "not every version hands this policy on to the parallelizer of experts");
}

}  // namespace

void map_automodel_precision(const Settings& settings, const Sharding& sharding, Report& report) {
  const Names kCompute = {"distributed.mp_policy.param_dtype", "distributed_config.mp_policy.param_dtype",
                          "distributed.moe.mp_policy.param_dtype", "parallelizer.mp_policy.param_dtype"};
  const Names kCast = {"distributed.autocast_dtype", "distributed_config.autocast_dtype"};
  const Names kStored = {"model.torch_dtype", "model.dtype"};
  (void)type_or(settings, kCompute, "bf16", "bf16", "passes", report);
  const bool cast = settings.has(kCast) && type_or(settings, kCast, "fp32", "bf16 fp32", "products", report) == "bf16";
  const bool eight = settings.on({"fp8.enabled"});
  if (eight)
    report.map("precision", "fp8", "fp8.enabled");
  else
    report.assume("precision", "bf16", "products in bf16 by default");
  const Names kScales = {"fp8.recipe_name", "fp8.recipe"};
  const std::string scales = settings.text(kScales).value_or("tensorwise");
  if (eight && scales != "tensorwise")
    report.refuse(settings.from(kScales), "float8 scales by " + in_quotes(scales) + " are not modelled");
  if (eight) report.map("precision_recipe.fp8_recipe", "tensorwise", "fp8.recipe_name");
  const std::string stored = settings.text(kStored).value_or("auto");
  const bool automatic = stored == "auto";
  std::string from = automatic ? "torch_dtype is auto: as the checkpoint, mostly bf16" : settings.from(kStored);
  const std::string type = automatic ? "bf16" : type_or(settings, kStored, "bf16", "bf16 fp32", "weights", report);
  const bool single = type == "fp32" && !(sharding.strategy == Strategy::kDdp && sharding.alone);
  if (eight && !single && !report.has("training"))
    report.refuse("fp8.enabled", "weights in bf16 without a copy in fp32 beside products in fp8");
  if (type == "fp32" && !single) from = "DDPManager trains in bf16 on one GPU";
  if (single)
    map_stored_fp32(settings, from, sharding, cast, eight, report);
  else if (!eight)
    map_stored_bf16(settings, from, sharding, report);
  map_reduction(settings, sharding, report);
}

}  // namespace foretoken::io::launch::nemo

// Maps types and converters to the precision.
#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/torchtitan/settings.h"

namespace foretoken::io::launch::torchtitan {
namespace {

constexpr const char* kConverters = "model.converters";
constexpr const char* kMxRecipes[] = {"mx.recipe_name", "quantize.linear.mx.recipe_name"};

bool converts(const Settings& settings, Names names) {
  const auto* converters = settings.at(kConverters);
  if (converters == nullptr || !converters->is_array()) return false;
  return std::ranges::any_of(*converters, [&](const auto& one) {
    return one.is_string() && std::ranges::find(names, one.template get<std::string>()) != names.end();
  });
}

// Refuses converters that change products in a way that is not known.
void check_converters(const Settings& settings, Report& report) {
  constexpr std::string_view kKnown[] = {"float8", "quantize.linear.float8", "mx", "quantize.linear.mx", ""};
  const auto* converters = settings.at(kConverters);
  if (converters == nullptr || !converters->is_array()) return;
  for (const auto& one : *converters)
    if (const std::string name = one.is_string() ? one.get<std::string>() : one.dump();
        name.starts_with("quantize.grouped_mm"))
      report.refuse(kConverters, in_quotes(name) + ": products of experts in 8 bits are not modelled");
    else if (name == "primus_turbo")
      report.approximate(kConverters, "kernels are those of the runtime");
    else if (std::ranges::find(kKnown, name) == std::end(kKnown))
      report.refuse(kConverters, "the converter " + in_quotes(name) + " is not modelled");
}

// Scales of float8 were stated one by one in 2024, as dynamic or delayed: torchtitan, config_manager.py and float8.py.
void refuse_delayed_scales(const Settings& settings, bool float8, Report& report) {
  for (const char* key : {"float8.scaling_type_input", "float8.scaling_type_weight", "float8.scaling_type_grad_output"})
    if (const auto scale = settings.find({key}); scale && float8 && scale->text != "dynamic")
      report.refuse(key, "float8 with scales that are " + in_quotes(scale->text) + " is not modelled; dynamic is");
}

// torchao's MX formats: mxfp8, mxfp8_cublas, mxfp8_emulated; mxfp4 is another.
void map_mx(const Settings& settings, Report& report) {
  const auto recipe = settings.find({kMxRecipes[0], kMxRecipes[1]});
  report.map("precision", "fp8", kConverters);
  if (!recipe) return report.assume("precision_recipe.fp8_recipe", "mxfp8", kByDefault);
  if (!recipe->text.starts_with("mxfp8"))
    return report.refuse(recipe->key, "products in " + in_quotes(recipe->text) + " are not modelled");
  report.map("precision_recipe.fp8_recipe", "mxfp8", recipe->key);
}

}  // namespace

bool has_float8(const Settings& settings) {
  return settings.on({"float8.enable_float8_linear", "training.fp8_linear"}) ||
         converts(settings, {"float8", "quantize.linear.float8"});
}

std::string why_open(const Settings& settings, Names keys) {
  const auto found = settings.find(keys);
  if (!found || !found->text.starts_with('<') || !found->text.ends_with('>')) return "";
  return found->key + ": " + printable(found->text.substr(1, found->text.size() - 2), 160);
}

std::optional<std::int64_t> number(const Settings& settings, Report& report, Names keys) {
  const auto found = settings.find(keys);
  const auto value = found ? whole_of(found->text) : std::nullopt;
  if (found && !value) report.refuse(found->key, "expected a whole number, found " + in_quotes(found->text));
  return value;
}

namespace {

// The types of weights that are gathered and of their products, of kept weights and states, and of reduced gradients.
struct Types {
  std::string compute = "bf16", stored = "fp32", reduced = "fp32";
};

// Returns the type that a key states, `usual` without one. Refuses another: `what` is "passes".
std::string type_of(const Settings& settings, Names keys, std::string usual, const std::string& what, Report& report) {
  const auto found = settings.find(keys);
  if (!found) return usual;
  if (found->text == "bfloat16") return "bf16";
  if (found->text == "float32") return "fp32";
  report.refuse(found->key, what + " in " + in_quotes(found->text) + " are not modelled");
  return usual;
}

const Names kCompute = {"training.mixed_precision_param", "parallelism.mixed_precision_param"};
const Names kReduced = {"training.mixed_precision_reduce", "parallelism.mixed_precision_reduce"};
const Names kStored = {"training.dtype"};

std::string key_of(const Settings& settings, Names keys) {
  const auto found = settings.find(keys);
  return found ? found->key : "";
}

void map_float8(const Settings& settings, Report& report) {
  report.map("precision", "fp8", "float8");
  report.assume("precision_recipe.fp8_recipe", "tensorwise", "default of torchao's float8");
  const auto recipe = settings.find({"float8.recipe_name", "quantize.linear.float8.recipe_name"});
  if (recipe && recipe->text != "tensorwise")
    report.refuse(recipe->key, "float8 scales by " + in_quotes(recipe->text) + " are not modelled");
}

// Maps the precision of products.
void map_products(const Settings& settings, const Types& types, MixedBy mixed, Report& report) {
  const bool mx = converts(settings, {"mx", "quantize.linear.mx"}), float8 = !mx && has_float8(settings);
  const std::string key = key_of(settings, kCompute);
  if (mx) map_mx(settings, report);
  if (float8) map_float8(settings, report);
  refuse_delayed_scales(settings, float8, report);
  if ((mx || float8) && types.compute == "fp32")
    report.refuse(key, "products in 8 bits of passes in float32 are not modelled");
  if (mx || float8) return;
  // maybe_enable_amp of torchtitan/distributed/utils.py disables it there.
  if (mixed == MixedBy::kNothing)
    return report.map("precision", types.stored,
                      (key.empty() ? "" : key + " has no effect: ") +
                          "torchtitan has no mixed precision beside tensor or pipeline parallelism without FSDP");
  if (!key.empty() && !report.names(key))
    report.map("precision", types.compute, key);
  else
    report.assume(
        "precision", types.compute,
        key.empty() ? "training.mixed_precision_param is bfloat16 by default" : "taken in the place of " + key);
}

// FSDP2 reduces gradients in a type of their own and keeps them in that of the weights: pytorch/pytorch@010ae4a,
// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce. Without FSDP the type of the reduction has
// no effect: pytorch/torchtitan, torchtitan/config/job_config.py.
void map_reduction(const Settings& settings, const Types& types, MixedBy mixed, Report& report) {
  const std::string key = key_of(settings, kReduced);
  const bool sharded = mixed == MixedBy::kFsdp;
  if (!sharded && !key.empty() && !report.names(key)) return report.ignore(key, "");
  if (!sharded || types.reduced == types.stored) return;
  if (!key.empty() && !report.names(key))
    report.map("precision_recipe.reduce", types.reduced, key);
  else
    report.assume("precision_recipe.reduce", types.reduced, "mixed_precision_reduce is float32 by default");
}

// A fork's AdamW keeps its moments in another type than the weights: pytorch/torchtitan@efa8476 (a commit of a fork),
// torchtitan/config/job_config.py.
void map_states(const Settings& settings, const Types& types, Report& report) {
  const Names kStates = {"optimizer.state_dtype"};
  const std::string type = type_of(settings, kStates, types.stored, "optimizer states", report);
  if (type != types.stored) report.map("precision_recipe.moments", type, key_of(settings, kStates));
}

}  // namespace

// Source: pytorch/torchtitan, torchtitan/config/job_config.py: dtype puts weights, gradients and optimizer states in
// bfloat16, without a copy in fp32.
void map_precision(const Settings& settings, MixedBy mixed, Report& report) {
  check_converters(settings, report);
  for (const char* recipe : kMxRecipes) (void)settings.at(recipe);  // runs without its converter do not use it
  const Types types{.compute = type_of(settings, kCompute, "bf16", "passes", report),
                    .stored = type_of(settings, kStored, "fp32", "weights and optimizer states", report),
                    .reduced = type_of(settings, kReduced, "fp32", "reduced gradients", report)};
  map_products(settings, types, mixed, report);
  map_states(settings, types, report);
  const std::string stored = key_of(settings, kStored);
  if (types.stored == "bf16" && types.compute == "fp32" && mixed != MixedBy::kNothing)
    return report.refuse(stored, "weights in bfloat16 beside passes in float32 are not modelled");
  if (types.stored == "bf16") keep_weights_of_16_bits(stored, report);
  map_reduction(settings, types, mixed, report);
}

}  // namespace foretoken::io::launch::torchtitan

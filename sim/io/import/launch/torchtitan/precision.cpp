// Maps types and converters to the precision.
#include <algorithm>

#include "sim/base/text.h"
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
      report.approximate(kConverters, "products of experts run in 16 bit");
    else if (name == "primus_turbo")
      report.approximate(kConverters, "kernels are those of the runtime");
    else if (std::ranges::find(kKnown, name) == std::end(kKnown))
      report.refuse(kConverters, "the converter " + in_quotes(name) + " is not modelled");
}

bool has_float8(const Settings& settings) {
  return settings.on({"float8.enable_float8_linear", "training.fp8_linear"}) ||
         converts(settings, {"float8", "quantize.linear.float8"});
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

void map_precision(const Settings& settings, Report& report) {
  const bool float8 = has_float8(settings);
  const auto compute = settings.find({"training.mixed_precision_param", "parallelism.mixed_precision_param"});
  if (compute && compute->text != "bfloat16")
    report.refuse(compute->key, "passes in " + in_quotes(compute->text) + " are not modelled");
  check_converters(settings, report);
  for (const char* recipe : kMxRecipes) (void)settings.at(recipe);  // runs without its converter do not use it
  const auto stored = settings.find({"training.dtype"});
  if (stored && stored->text != "float32")
    report.refuse(stored->key, "weights and optimizer states in " + in_quotes(stored->text) + " are not modelled");
  const auto reduced = settings.find({"training.mixed_precision_reduce", "parallelism.mixed_precision_reduce"});
  if (reduced && reduced->text == "bfloat16")
    report.map("precision_recipe.gradients", "bf16", reduced->key);
  else if (reduced && reduced->text != "float32")
    report.refuse(reduced->key, "gradients in " + in_quotes(reduced->text) + " are not modelled");
  if (converts(settings, {"mx", "quantize.linear.mx"})) return map_mx(settings, report);
  if (!float8)
    report.assume("precision", "bf16", "training.mixed_precision_param is bfloat16 by default");
  else
    report.map("precision", "fp8", "float8");
  if (float8) report.assume("precision_recipe.fp8_recipe", "tensorwise", "default of torchao's float8");
  refuse_delayed_scales(settings, float8, report);
  const auto recipe = settings.find({"float8.recipe_name", "quantize.linear.float8.recipe_name"});
  if (float8 && recipe && recipe->text != "tensorwise")
    report.refuse(recipe->key, "float8 scales by " + in_quotes(recipe->text) + " are not modelled");
}

}  // namespace foretoken::io::launch::torchtitan

// Reads the precision of a ConfigContainer as flags of Megatron-LM.
//
// Rules: NVIDIA-NeMo/Megatron-Bridge (05097809), src/megatron/bridge/training/mixed_precision.py. setup() writes every
// field of the section over the fields of that name in model, optimizer and ddp. Where the section is null, nothing is
// written over them.
#include "sim/io/import/launch/bridge/precision.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::bridge {
namespace {

constexpr const char* kSection = "mixed_precision";

/// The end of a recipe's name behind bf16 or fp16, and the fields that it sets: MIXED_PRECISION_RECIPES. NVFP4 is that
/// of a later version (bf16_with_nvfp4_mixed).
struct NamedRecipe {
  std::string_view end, fp8, recipe, fp4;
  bool narrow_weights = false, wide_ends = false;
};
constexpr NamedRecipe kRecipes[] = {{"", "", "", "", false, false},
                                    {"_mixed", "", "", "", false, false},
                                    {"_with_fp8_delayed_scaling_mixed", "hybrid", "delayed", "", true, false},
                                    {"_with_mxfp8_mixed", "e4m3", "mxfp8", "", true, false},
                                    {"_with_fp8_current_scaling_mixed", "hybrid", "tensorwise", "", true, true},
                                    {"_with_fp8_subchannel_scaling_mixed", "hybrid", "blockwise", "", false, false},
                                    {"_with_nvfp4_mixed", "", "", "e2m1", false, false}};
/// Recipes of one family of models stand under its name: nemotron_h_bf16_with_fp8_current_scaling_mixed.
constexpr std::string_view kFamilies[] = {"", "nemotron_h_", "nanov2_", "nemotron_3_super_"};

void add_named(std::string name, Report& report, std::vector<Argument>& arguments) {
  std::ranges::replace(name, '-', '_');
  const std::size_t type = std::min(name.find("bf16"), name.find("fp16"));
  constexpr std::size_t kLength = 4;
  const std::string family = name.substr(0, type), end = type == name.npos ? "" : name.substr(type + kLength);
  const auto* const recipe = std::ranges::find(kRecipes, end, &NamedRecipe::end);
  const bool known =
      type != name.npos && recipe != std::end(kRecipes) && std::ranges::find(kFamilies, family) != std::end(kFamilies);
  if (!known)
    return report.refuse("mixed_precision " + printable(name, 60), "an unknown recipe of mixed precision", kSection);
  const auto add = [&](std::string flag, std::string_view value) {
    if (!value.empty()) arguments.push_back({std::move(flag), {std::string(value)}, kSection});
  };
  arguments.push_back({name.substr(type, kLength), {}, kSection});
  add("fp8-format", recipe->fp8);
  add("fp8-recipe", family == "nanov2_" ? "blockwise" : recipe->recipe);
  add("fp4-format", recipe->fp4);
  if (recipe->narrow_weights) arguments.push_back({"fp8-param-gather", {}, kSection});
  if (recipe->wide_ends || family == "nemotron_3_super_")
    report.approximate(kSection, "its first and last layers run in 16 bits; all layers run in the narrow format");
}

// Returns true where the section is not there, or null.
bool has_no_section(const Settings& settings) {
  const auto section = settings.document().find(kSection);
  return section == settings.document().end() || section->is_null();
}

void add_switches(const Settings& settings, std::vector<Argument>& arguments) {
  for (const std::string type : {"bf16", "fp16"}) {
    const std::string model = "model." + type, optimizer = "optimizer." + type;
    const bool of_model = settings.on({model});
    if (of_model || settings.on({optimizer})) arguments.push_back({type, {}, of_model ? model : optimizer});
  }
  const auto text = settings.text({kDdpReduces});
  const auto wide = text ? switch_of(*text) : std::nullopt;
  const bool brain = last_of(arguments, "bf16") != nullptr;
  if (wide == true) arguments.push_back({"accumulate-allreduce-grads-in-fp32", {}, kDdpReduces});
  if (wide == false && brain) arguments.push_back({"grad-reduce-in-bf16", {}, kDdpReduces});
}

}  // namespace

void add_precision(const Settings& settings, std::vector<Argument>& arguments) {
  if (has_no_section(settings)) return add_switches(settings, arguments);
  if (settings.has({kDdpReduces})) settings.report().approximate(kDdpReduces, kOverwritten);
  // The recipe of fp8 counts only with a format beside it.
  const auto recipe = settings.text({"mixed_precision.fp8_recipe"});
  if (recipe && settings.has({"mixed_precision.fp8"}))
    arguments.push_back({"fp8-recipe", {*recipe}, "mixed_precision.fp8_recipe"});
  const Json& section = settings.document().at(kSection);  // its keys are sorted one by one
  if (!section.is_string()) return;
  const std::string name = settings.text({kSection}).value_or("");
  if (!name.empty() && !shell::is_unknown(name)) add_named(name, settings.report(), arguments);
}

// src/megatron/bridge/training/mixed_precision.py, setup(): the recipe's section is put over the section ddp.
void ask_for_gradients_of_recipe(const Settings& settings) {
  if (settings.document().contains(kSection) || !settings.has({kDdpReduces})) return;
  settings.report().forget("precision_recipe.gradients");
  settings.report().ask("precision_recipe.gradients",
                        std::string("the recipe's mixed_precision, which is not here, is put over ") + kDdpReduces);
}

// NVIDIA/Megatron-LM, megatron/core/distributed/distributed_data_parallel_config.py: grad_reduce_in_fp32 is off.
void assume_gradients_of_ddp(const Settings& settings) {
  const bool null = has_no_section(settings) && settings.document().contains(kSection);
  if (!null || settings.has({kDdpReduces}) || settings.report().at("precision") != "bf16") return;
  settings.report().assume("precision_recipe.gradients", "bf16",
                           "default of ddp.grad_reduce_in_fp32, and mixed_precision is null");
}

}  // namespace foretoken::io::launch::bridge

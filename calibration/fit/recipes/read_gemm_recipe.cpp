// Reads the "gemm" part of a recipe: a law for each precision.
#include <fmt/format.h>

#include "calibration/fit/recipes/read_parts.h"
#include "calibration/fit/recipes/recipe_nodes.h"
#include "sim/io/hardware/profile_fields.h"

namespace foretoken::fit {
namespace {

using io::Node;

StatedLaw read_constants(const Node& node) {
  node.allow_only({"peak_tflops", "multiprocessors", "efficiency", "prologue_k", "small_tile_loss", "memory_efficiency",
                   "launch_us", "note"});
  StatedLaw law{.efficiency = node.find_number("efficiency", io::kEfficiency),
                .prologue_k = node.find_number("prologue_k", {.low = 0, .high = 1e9}),
                .small_tile_loss = node.find_number("small_tile_loss", {.low = 0, .high = 0.3}),
                .memory_efficiency = node.find_number("memory_efficiency", io::kEfficiency)};
  if (const auto peak = node.find_number("peak_tflops", io::kRate)) law.peak = teraflops(*peak);
  if (const auto count = node.find_whole("multiprocessors", {.low = 1, .high = 1'000'000}))
    law.multiprocessors = static_cast<int>(*count);
  if (const auto launch = node.find_number("launch_us", io::kMicroseconds)) law.launch = microseconds(*launch);
  return law;
}

GemmStart read_start(const Node& node) {
  node.allow_only({"profile", "precision", "corrections", "long_runs", "note"});
  return {.profile = node.find_text("profile"),
          .precision = read_precision(node, "precision"),
          .with_corrections = node.find_boolean("corrections").value_or(false),
          .long_runs = node.find_boolean("long_runs").value_or(false),
          .place = place_of(node)};
}

GemmFitRecipe read_fit(const Node& node, const Inputs& inputs) {
  node.allow_only({"rows", "brief", "memory_and_launch", "corrections", "source", "note"});
  GemmFitRecipe recipe{.rows = read_rows(node.object("rows"), inputs),
                       .memory_and_launch = node.find_boolean("memory_and_launch").value_or(true),
                       .corrections = node.find_boolean("corrections").value_or(true)};
  if (const auto brief = node.find_object("brief")) recipe.brief = read_factor_of_rows(*brief, inputs);
  return recipe;
}

/// Complains about missing constants. Without a law to start from, every constant must be stated.
void want_all_constants(const Node& node, const GemmRecipe& recipe) {
  const StatedLaw& law = recipe.stated;
  if (recipe.start || (law.efficiency && law.prologue_k && law.small_tile_loss && law.memory_efficiency && law.launch))
    return;
  node.complain("constants",
                "expected efficiency, prologue_k, small_tile_loss, memory_efficiency and launch_us, or a law under "
                "\"start\" that has them");
}

GemmEntry read_entry(const Node& node, const Inputs& inputs) {
  if (node.has("as")) {
    node.allow_only({"as", "note"});
    return read_precision(node, "as");
  }
  node.allow_only({"start", "constants", "fit", "weight_gradient_factor", "sustained_factor", "evidence", "note"});
  GemmRecipe recipe{.weight_gradient = read_factor(node, "weight_gradient_factor", inputs),
                    .sustained = read_factor(node, "sustained_factor", inputs),
                    .place = place_of(node)};
  if (const auto start = node.find_object("start")) recipe.start = read_start(*start);
  if (const auto constants = node.find_object("constants")) recipe.stated = read_constants(*constants);
  want_all_constants(node, recipe);
  if (recipe.weight_gradient && std::holds_alternative<FactorOfProducts>(*recipe.weight_gradient))
    node.complain("weight_gradient_factor",
                  "expected a number, \"profile\" or \"rows\": \"products\" is for sustained factors");
  if (const auto fit = node.find_object("fit")) {
    recipe.fit = read_fit(*fit, inputs);
    recipe.evidence.source = fit->text("source");
    if (node.has("evidence")) node.complain("evidence", "expected nothing beside \"fit\", which finds its own errors");
    if (recipe.fit->brief && recipe.sustained)
      node.complain("sustained_factor", "expected nothing beside \"brief\" of \"fit\", which gives the factor");
  } else {
    recipe.evidence = read_evidence(node.object("evidence"));
  }
  return recipe;
}

/// Returns the precision whose sustained factor this law takes, if it takes one.
std::optional<Precision> lender_of(const GemmEntry& entry) {
  const auto* recipe = std::get_if<GemmRecipe>(&entry);
  const auto* own = recipe && recipe->sustained ? std::get_if<FactorOfProducts>(&*recipe->sustained) : nullptr;
  return own ? std::optional(own->precision) : std::nullopt;
}

/// Complains about factors of products without a law of their own, or of products that take their factor elsewhere.
void want_lenders(const Node& node, const std::map<Precision, GemmEntry>& laws) {
  for (const auto& [precision, entry] : laws) {
    const auto lender = lender_of(entry);
    if (!lender) continue;
    const auto found = laws.find(*lender);
    const bool own = found != laws.end() && std::holds_alternative<GemmRecipe>(found->second);
    if (!own || lender_of(found->second))
      node.complain(name_of(precision),
                    fmt::format("\"sustained_factor\" expects \"products\" with a factor of their own here, found {}",
                                name_of(*lender)));
  }
}

}  // namespace

std::map<Precision, GemmEntry> read_gemm_recipes(const Node& node, const Inputs& inputs) {
  node.allow_only({"fp32", "fp16", "bf16", "fp8", "fp8_block", "nvfp4", "int8"});
  std::map<Precision, GemmEntry> laws;
  for (const auto& [precision, name] : kPrecisionNames)
    if (const auto entry = node.find_object(name)) laws.emplace(precision, read_entry(*entry, inputs));
  if (laws.empty()) node.complain("expected a law for at least one of fp16, bf16, fp8, fp32");
  for (const auto& [precision, entry] : laws)
    if (const auto* other = std::get_if<Precision>(&entry))
      if (!laws.contains(*other) || std::holds_alternative<Precision>(laws.at(*other)))
        node.complain(name_of(precision),
                      fmt::format("\"as\" expects a precision with a law of its own here, found {}", name_of(*other)));
  want_lenders(node, laws);
  return laws;
}

}  // namespace foretoken::fit

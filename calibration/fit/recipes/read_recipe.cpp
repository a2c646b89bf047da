// Reads a whole recipe, part by part.
#include "calibration/fit/recipes/read_recipe.h"

#include "calibration/fit/recipes/read_parts.h"
#include "calibration/fit/recipes/recipe_nodes.h"
#include "sim/io/hardware/collectives.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/profile_fields.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/document.h"
#include "sim/io/json/fields.h"

namespace foretoken::fit {
namespace {

using io::Node;

/// Reads {"profile": NAME}, or the law in the form of profiles.
template <class Law>
Stated<Law> read_stated(const Node& node, void (*fields)(io::Fields&, Law&)) {
  if (node.has("profile")) return read_from(node);
  return io::Fields::read_fields<Law>(node, fields);
}

/// At the datasheet's bandwidth.
void memory_fields(io::Fields& f, cost::MemoryBoundLaw& law) {
  f.number("efficiency", law.efficiency, io::kEfficiency);
  f.microseconds("launch_us", law.launch, io::kMicroseconds);
  f.object("evidence", law.evidence, io::evidence_fields);
}

net::Gpu read_datasheet(const Node& root) {
  const auto document = io::open_reference(root.child("gpu"), io::kGpus);
  return document ? io::read_gpu(document->root(root.findings())) : net::Gpu{};
}

Recipe read_root(const Node& root, const std::string& name) {
  root.allow_only({"gpu", "inputs", "gemm", "misaligned_rows", "attention", "memory_bound", "nvlink", "pcie", "network",
                   "point_to_point", "kernel_tables", "serving_tables", "engine_tables", "expert_tables", "exchanges",
                   "exchange_tables", "note"});
  Recipe recipe{.name = name, .gpu = read_datasheet(root), .place = place_of(root)};
  recipe.inputs = read_inputs(root.object_or_empty("inputs"));
  recipe.gemm = read_gemm_recipes(root.object("gemm"), recipe.inputs);
  recipe.misaligned_rows = read_stated(root.object("misaligned_rows"), io::misaligned_fields);
  recipe.attention = read_attention_recipe(root.object("attention"), recipe.inputs);
  recipe.memory_bound = read_stated(root.object("memory_bound"), memory_fields);
  if (auto* law = std::get_if<cost::MemoryBoundLaw>(&recipe.memory_bound)) law->bandwidth = recipe.gpu.memory_bandwidth;
  recipe.nvlink = read_inside_recipe(root.object("nvlink"), recipe.inputs);
  recipe.pcie = read_inside_recipe(root.object("pcie"), recipe.inputs);
  recipe.network = read_across_recipe(root.object("network"), recipe.inputs);
  recipe.point_to_point = read_stated(root.object("point_to_point"), io::message_fields);
  for (const Node& table : root.find_array("kernel_tables").value_or(std::vector<Node>()))
    recipe.kernel_tables.push_back(read_rows(table, recipe.inputs));
  for (const Node& table : root.find_array("serving_tables").value_or(std::vector<Node>()))
    recipe.serving_tables.push_back(read_rows(table, recipe.inputs));
  for (const Node& table : root.find_array("engine_tables").value_or(std::vector<Node>()))
    recipe.engine_tables.push_back(read_rows(table, recipe.inputs));
  for (const Node& table : root.find_array("expert_tables").value_or(std::vector<Node>()))
    recipe.expert_tables.push_back(read_rows(table, recipe.inputs));
  if (const auto exchanges = root.find_object("exchanges")) recipe.exchanges = read_from(*exchanges);
  for (const Node& table : root.find_array("exchange_tables").value_or(std::vector<Node>()))
    recipe.exchange_tables.push_back(read_rows(table, recipe.inputs));
  return recipe;
}

}  // namespace

Recipe read_recipe(const std::filesystem::path& path) {
  io::Findings findings;
  const auto document = io::document_from_file(path, findings);
  findings.throw_if_wrong();
  Recipe recipe = read_root(document->root(findings), document->name);
  findings.throw_if_wrong();
  return recipe;
}

RecipeBook read_recipes(const std::vector<std::string>& names) {
  RecipeBook book;
  for (const std::string& name : names.empty() ? io::list_names(kRecipes) : names) {
    const auto path = io::is_path(name) ? std::filesystem::path(name) : io::find_data_file(kRecipes, name);
    if (!path) throw ConfigError({{"recipes", "", io::unknown_name(kRecipes, name)}});
    Recipe recipe = read_recipe(*path);
    book.emplace(recipe.name, std::move(recipe));
  }
  return book;
}

}  // namespace foretoken::fit

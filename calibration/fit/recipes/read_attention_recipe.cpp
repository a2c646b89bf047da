// Reads the "attention" part of a recipe. It has one of three forms: of series, of another profile, or in the
// proportions of another profile.
#include <fmt/format.h>

#include "calibration/fit/recipes/read_parts.h"
#include "calibration/fit/recipes/recipe_nodes.h"
#include "sim/base/text.h"
#include "sim/io/hardware/profile_fields.h"

namespace foretoken::fit {
namespace {

using io::Node;

constexpr io::WholeRange kDimensions{.low = 1, .high = 65536};
constexpr io::WholeRange kCounts{.low = 1, .high = 1'000'000};

Halves read_halves(const Node& node, const Inputs& inputs) {
  node.allow_only({"rows", "half_length", "multiprocessors", "note"});
  return {.rows = read_rows(node.object("rows"), inputs),
          .half_length = node.number("half_length", {.low = 0, .high = 1e9}),
          .multiprocessors = static_cast<int>(node.whole("multiprocessors", kCounts))};
}

SeriesRecipe read_series(const Node& node, const Inputs& inputs) {
  if (node.has("base")) {
    node.allow_only({"base", "times", "over"});
    return {ScaledSeries{node.text("base"), node.text("times"), node.text("over")}, place_of(node)};
  }
  node.allow_only({"table", "name", "causal", "head_dim"});
  const ChartSeries chart{.table = node.text("table"),
                          .name = node.text("name"),
                          .causal = node.boolean("causal"),
                          .head_dim = static_cast<int>(node.whole("head_dim", kDimensions))};
  want_input(node, inputs, chart.table);
  return {chart, place_of(node)};
}

SeriesLaw read_law(const Node& node, const AttentionOfSeries& known) {
  node.allow_only({"head_dim", "causal", "forward", "backward", "both", "source", "guessed"});
  SeriesLaw law{.head_dim = static_cast<int>(node.whole("head_dim", kDimensions)),
                .causal = node.boolean("causal"),
                .source = node.text("source"),
                .guessed = node.find_boolean("guessed").value_or(false),
                .place = place_of(node)};
  const auto series = [&](const char* key) {
    std::string name = node.text(key);
    if (node.has(key) && !known.series.contains(name))
      node.complain(key, fmt::format("expected a name under \"series\", found {}", in_quotes(name)));
    return name;
  };
  if (node.has("both")) {
    law.forward = law.backward = series("both");
  } else {
    law.forward = series("forward");
    law.backward = series("backward");
  }
  return law;
}

/// Follows the references of a series. Returns the first name that does not exist, or a name in a circle of references,
/// or nothing when there is no fault.
std::optional<std::string> wrong_part(const AttentionOfSeries& laws, const std::string& name, std::size_t deepest) {
  const auto found = laws.series.find(name);
  if (found == laws.series.end() || deepest == 0) return name;
  const auto* scaled = std::get_if<ScaledSeries>(&found->second.from);
  if (!scaled) return std::nullopt;
  for (const std::string& part : {scaled->base, scaled->times, scaled->over})
    if (auto wrong = wrong_part(laws, part, deepest - 1)) return wrong;
  return std::nullopt;
}

void check_series(const Node& node, const AttentionOfSeries& laws) {
  for (const auto& [name, series] : laws.series)
    if (const auto wrong = wrong_part(laws, name, laws.series.size()))
      node.complain(name, fmt::format("stands on {}, which {}", in_quotes(*wrong),
                                      laws.series.contains(*wrong) ? "stands on it again" : "is no series here"));
}

AttentionOfSeries read_of_series(const Node& node, const Inputs& inputs) {
  AttentionOfSeries laws{.halves = read_halves(node.object("halves"), inputs)};
  const Node series = node.object("series");
  for (const std::string& name : series.keys()) laws.series.emplace(name, read_series(series.object(name), inputs));
  check_series(series, laws);
  for (const Node& law : node.array("laws")) laws.laws.push_back(read_law(law.as_object(), laws));
  if (node.has("flash_2") && node.child("flash_2").is_text())
    laws.flash2_is_laws = node.one_of<bool>("flash_2", {{"laws", true}});
  else if (const auto flash2 = node.find_array("flash_2"))
    for (const Node& law : *flash2) laws.flash2.push_back(read_law(law.as_object(), laws));
  return laws;
}

AttentionOfProfile read_of_profile(const Node& node, const Inputs& inputs) {
  AttentionOfProfile laws{.from = {node.text("profile"), place_of(node)},
                          .with_flash2 = node.find_boolean("flash_2").value_or(true),
                          .evidence = read_evidence(node.object("evidence"))};
  if (const auto halves = node.find_object("backward_rate")) laws.backward_rate = read_halves(*halves, inputs);
  return laws;
}

AttentionInProportion read_in_proportion(const Node& node, const Inputs& inputs) {
  const Node others = node.object("others");
  others.allow_only({"profile", "evidence"});
  return {.rows = read_rows(node.object("rows"), inputs),
          .head_dim = static_cast<int>(node.whole("head_dim", kDimensions)),
          .causal = node.boolean("causal"),
          .source = node.text("source"),
          .others = {others.text("profile"), place_of(others)},
          .others_evidence = read_evidence(others.object("evidence"))};
}

}  // namespace

AttentionRecipe read_attention_recipe(const Node& node, const Inputs& inputs) {
  constexpr const char* kForms =
      "expected \"series\" (with halves, laws, flash_2), \"profile\" (with evidence) or \"rows\" (with others)";
  AttentionRecipe recipe{.sustained = read_factor(node, "sustained_factor", inputs)};
  if (node.has("profile")) {
    node.allow_only({"profile", "evidence", "backward_rate", "flash_2", "multiprocessors", "sustained_factor", "note"});
    recipe.from = read_of_profile(node, inputs);
  } else if (node.has("series")) {
    node.allow_only({"series", "halves", "laws", "flash_2", "block_rows", "launch_us", "multiprocessors",
                     "sustained_factor", "note"});
    recipe.from = read_of_series(node, inputs);
  } else if (node.has("rows")) {
    node.allow_only({"rows", "head_dim", "causal", "source", "others", "block_rows", "launch_us", "multiprocessors",
                     "sustained_factor", "note"});
    recipe.from = read_in_proportion(node, inputs);
  } else {
    node.complain(kForms);
    return recipe;
  }
  if (const auto count = node.find_whole("multiprocessors", kCounts)) recipe.multiprocessors = static_cast<int>(*count);
  if (node.has("profile")) return recipe;
  recipe.block_rows = static_cast<int>(node.whole("block_rows", kCounts));
  recipe.launch = microseconds(node.number("launch_us", io::kMicroseconds));
  return recipe;
}

}  // namespace foretoken::fit

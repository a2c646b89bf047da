// Reads each part of a recipe.
#pragma once

#include "calibration/fit/recipes/recipe.h"
#include "sim/io/json/node.h"

namespace foretoken::fit {

[[nodiscard]] std::map<Precision, GemmEntry> read_gemm_recipes(const io::Node& node, const Inputs& inputs);
[[nodiscard]] AttentionRecipe read_attention_recipe(const io::Node& node, const Inputs& inputs);
[[nodiscard]] InsideRecipe read_inside_recipe(const io::Node& node, const Inputs& inputs);
[[nodiscard]] AcrossRecipe read_across_recipe(const io::Node& node, const Inputs& inputs);

}  // namespace foretoken::fit

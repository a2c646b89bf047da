// A recipe: says how each part of a profile is made, as read from calibration/recipes/NAME.json.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibration/fit/recipes/attention_recipe.h"
#include "calibration/fit/recipes/collective_recipe.h"
#include "calibration/fit/recipes/gemm_recipe.h"
#include "sim/net/cluster.h"

namespace foretoken::fit {

/// A law that the recipe states in the form of profiles, or that it takes unchanged from another profile.
template <class Law>
using Stated = std::variant<Law, FromProfile>;

struct Recipe {
  std::string name{};
  net::Gpu gpu{};
  Inputs inputs{};
  std::map<Precision, GemmEntry> gemm{};
  Stated<cost::MisalignedRows> misaligned_rows{};
  AttentionRecipe attention{};
  Stated<cost::MemoryBoundLaw> memory_bound{};
  InsideRecipe nvlink{}, pcie{};
  AcrossRecipe network{};
  Stated<cost::PointToPointLaw> point_to_point{};
  std::vector<Rows> kernel_tables{};   ///< products, quantisation and attention: fitted last, as `calibrate fit` does
  std::vector<Rows> serving_tables{};  ///< attention of engines of inference, where training has a faster kernel
  std::vector<Rows> engine_tables{};   ///< attention of engines: give its laws each engine's constants
  std::vector<Rows> expert_tables{};   ///< layers of experts: give each of the laws of products its grouped part
  std::optional<FromProfile> exchanges{};  ///< laws of another GPU, at the NVLink rate of this one
  std::vector<Rows> exchange_tables{};     ///< exchanges of tokens: replace the laws that they measured
  Place place{};
};
using RecipeBook = std::map<std::string, Recipe>;

}  // namespace foretoken::fit

// How a law of matrix products is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "calibration/fit/recipes/recipe_inputs.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// A factor of a law: a number, another profile's, or the median of measured time over the law's.
struct FactorOfRows {
  Rows rows{};
  Seconds shortest{};                ///< only kernels that last at least this
  std::int64_t least_dimension = 0;  ///< only products with m, n, k of at least this
  bool corrected = false;            ///< the law with its corrections
};
/// The factor of this recipe's own products: a lower clock slows products and attention alike.
struct FactorOfProducts {
  Precision precision = Precision::kBf16;
};
using FactorRecipe = std::variant<double, FromProfile, FactorOfRows, FactorOfProducts>;

/// Constants of a tile-and-wave law that the recipe states.
struct StatedLaw {
  std::optional<FlopPerSecond> peak{};
  std::optional<int> multiprocessors{};
  std::optional<double> efficiency{}, prologue_k{}, small_tile_loss{};
  std::optional<double> memory_efficiency{};  ///< part of the datasheet bandwidth
  std::optional<Seconds> launch{};
};

/// The law that another begins as: of another profile (then at this GPU's datasheet rates), or of this recipe.
struct GemmStart {
  std::optional<std::string> profile{};
  Precision precision = Precision::kBf16;
  bool with_corrections = false;
  Place place{};
};

struct GemmFitRecipe {
  Rows rows{};
  bool memory_and_launch = true;  ///< bandwidth and launch move too
  bool corrections = true;        ///< a grid of what the law misses is fitted
};

struct GemmRecipe {
  std::optional<GemmStart> start{};
  StatedLaw stated{};
  std::optional<GemmFitRecipe> fit{};
  std::optional<FactorRecipe> weight_gradient{}, sustained{};
  cost::Evidence evidence{};  ///< of a fit only the source counts
  Place place{};
};
/// A law, or the name of another precision with the same law.
using GemmEntry = std::variant<GemmRecipe, Precision>;

}  // namespace foretoken::fit

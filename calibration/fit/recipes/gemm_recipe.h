// The part of a recipe that says how the laws of matrix products are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "calibration/fit/recipes/recipe_inputs.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// A factor of a law: the median of measured time over the law's time.
struct FactorOfRows {
  Rows rows{};
  Seconds shortest{};                ///< only kernels that last at least this
  std::int64_t least_dimension = 0;  ///< only products with m, n, k of at least this
  bool corrected = false;            ///< compares with the law and its corrections, not with the law alone
};
/// The sustained factor of this recipe's products of one precision. Attention and products of other precisions may take
/// it: the power limit is the board's, and a lower clock slows all of them.
struct FactorOfProducts {
  Precision precision = Precision::kBf16;
};
/// A number, another profile's factor, a factor of measured rows, or the factor of the products.
using FactorRecipe = std::variant<double, FromProfile, FactorOfRows, FactorOfProducts>;

/// Constants of a tile-and-wave law that the recipe states.
struct StatedLaw {
  std::optional<FlopPerSecond> peak{};
  std::optional<int> multiprocessors{};
  std::optional<double> efficiency{}, prologue_k{}, small_tile_loss{};
  std::optional<double> memory_efficiency{};  ///< part of the datasheet bandwidth
  std::optional<Seconds> launch{};
};

/// The law from which a fit starts: of another profile, at this GPU's datasheet rates, or of this recipe.
struct GemmStart {
  std::optional<std::string> profile{};
  Precision precision = Precision::kBf16;
  bool with_corrections = false;
  bool long_runs = false;  ///< at the speed of long runs: the factor between brief and long ones is not taken
  Place place{};
};

struct GemmFitRecipe {
  Rows rows{};
  bool memory_and_launch = true;  ///< also fits bandwidth and launch
  bool corrections = true;        ///< also fits a grid of the law's errors
  /// Brief runs, where `rows` are at the speed of long ones: their times over the law give the sustained factor.
  std::optional<FactorOfRows> brief{};
};

struct GemmRecipe {
  std::optional<GemmStart> start{};
  StatedLaw stated{};
  std::optional<GemmFitRecipe> fit{};
  std::optional<FactorRecipe> weight_gradient{}, sustained{};
  cost::Evidence evidence{};  ///< a fit takes only the source from it
  Place place{};
};
/// A law, or the name of another precision with the same law.
using GemmEntry = std::variant<GemmRecipe, Precision>;

}  // namespace foretoken::fit

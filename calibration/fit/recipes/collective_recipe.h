// The part of a recipe that says how the laws of collectives are made.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibration/fit/recipes/recipe_inputs.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// nccl-tests tables of GPUs whose names begin with one of `gpus`.
struct TableChoice {
  std::string table{};
  std::vector<std::string> gpus{};
  std::vector<std::string> not_over{};  ///< networks whose name holds one of these stay out
  double link_gb_per_s = 0;             ///< of the GPUs in the tables
  std::string source{};
  Place place{};
};

struct InsideFit {
  TableChoice tables{};
  std::optional<FromProfile> latencies{};    ///< lends the latencies that no table shows
  std::optional<std::string> measured_on{};  ///< set when the tables are of another GPU: curves count as scaled from it
};
struct InsideOfProfile {
  FromProfile from{};
  std::optional<cost::Evidence> at_own_rate{};  ///< present: the curves are scaled to this GPU's NVLink rate
};
using InsideRecipe = std::variant<InsideFit, InsideOfProfile>;

struct AcrossFit {
  TableChoice tables{};
  std::optional<TableChoice> two_node_gain{};
  std::optional<FromProfile> latency_per_doubling{};
};
struct AcrossOfProfile {
  FromProfile from{};
  std::optional<cost::Evidence> evidence{};
  bool with_measured = true;                ///< also takes the corrections of measured groups
  std::optional<TableChoice> checked_on{};  ///< tables that the law was not fitted on
};
using AcrossRecipe = std::variant<AcrossFit, AcrossOfProfile>;

}  // namespace foretoken::fit

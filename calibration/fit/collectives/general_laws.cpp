// Fits the collective laws of each architecture, by the recipe of one profile each.
#include "calibration/fit/collectives/general_laws.h"

#include "calibration/fit/recipes/read_recipe.h"
#include "calibration/fit/shipped/fitting.h"

namespace foretoken::fit {
namespace {

struct Representative {
  const char *architecture, *profile;
};
constexpr Representative kRepresentatives[] = {{"volta", "v100-sxm2-32gb"},
                                               {"ampere", "a100-sxm4-80gb"},
                                               {"hopper", "h100-sxm5-80gb"},
                                               {"blackwell", "b200-sxm-180gb"},
                                               {"", "h100-sxm5-80gb"}};

}  // namespace

GeneralLaws fit_general_laws(const std::vector<CollectiveTable>& data) {
  std::vector<std::string> names;
  for (const Representative& each : kRepresentatives) names.emplace_back(each.profile);
  const RecipeBook recipes = read_recipes(names);
  Tables tables("");
  tables.use_collectives(data);
  Fitting fitting(recipes, tables);
  GeneralLaws laws;
  for (const auto& [architecture, profile] : kRepresentatives) {
    const FromProfile from{profile, recipes.at(profile).place};
    laws[architecture] = {.nvlink = fitting.nvlink(from),
                          .pcie = fitting.pcie(from),
                          .network = fitting.network(from),
                          .point_to_point = fitting.point_to_point(from)};
  }
  return laws;
}

}  // namespace foretoken::fit

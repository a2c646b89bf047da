// Reads recipes: calibration/recipes/NAME.json.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/recipes/recipe.h"
#include "sim/io/json/data_path.h"

namespace foretoken::fit {

inline constexpr io::DataKind kRecipes{"recipe", "calibration/recipes"};

/// Reads one file, whose name is the profile's name. Throws ConfigError with every complaint as "FILE: /pointer: what".
[[nodiscard]] Recipe read_recipe(const std::filesystem::path& path);

/// Reads the recipes of these names or paths. Without names, reads all shipped recipes. Throws ConfigError.
[[nodiscard]] RecipeBook read_recipes(const std::vector<std::string>& names = {});

}  // namespace foretoken::fit

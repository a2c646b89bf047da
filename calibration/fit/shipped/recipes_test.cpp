// Tests the shipped recipes: their inputs, and the profiles that follow from the tables in the repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "calibration/fit/recipes/read_recipe.h"
#include "calibration/fit/shipped/fitting.h"
#include "calibration/fit/test_sources.h"
#include "sim/io/hardware/profile.h"

namespace foretoken::fit {
namespace {

using testing::HasSubstr;

const std::filesystem::path kExcerpts = kSource / "calibration/fit/testdata";

/// One recipe; parts of other profiles are those that are shipped.
RecipeBook alone(const std::string& name) { return read_recipes({name}); }

/// The notes say in words what the parts say in numbers, and their wording may be newer than the shipped files.
std::string text_without_notes(cost::Profile profile) {
  profile.notes.clear();
  return io::to_json_text(profile);
}

TEST(Recipes, OneForEveryShippedProfile) {
  std::set<std::string> recipes, profiles;
  for (const auto& [name, recipe] : read_recipes()) {
    recipes.insert(name);
    EXPECT_EQ(recipe.gpu.name, name);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kSource / "calibration/profiles"))
    profiles.insert(entry.path().stem().string());
  EXPECT_EQ(recipes, profiles);
}

TEST(Recipes, InputsAreTheFilesThatWereFittedOrArePublicElsewhere) {
  std::set<std::string> missing;
  const RecipeBook recipes = read_recipes();
  for (const InputState& state : input_states(recipes, "/nowhere")) {
    EXPECT_NE(state.kind, InputState::kChanged) << line_of(state);
    if (state.kind != InputState::kMissing) continue;
    missing.insert(state.name);
    EXPECT_THAT(line_of(state), HasSubstr("missing: /nowhere/" + state.name + "; take it from https://"));
  }
  EXPECT_EQ(missing, (std::set<std::string>{"a100_sglang.csv", "b200.csv", "b300_attention_full.csv",
                                            "b300_attention_sglang.csv", "b300_attention_vllm.csv", "b300_gemm.csv",
                                            "b300_quantisation.csv", "gb200.csv", "gb300_attention_full.csv",
                                            "gb300_attention_sglang.csv", "gb300_attention_vllm.csv", "gb300_gemm.csv",
                                            "gb300_quantisation.csv", "h100.csv", "h200.csv", "operators.csv"}));
}

TEST(Recipes, AChangedFileIsNoInput) {
  Recipe recipe = alone("h100-sxm5-80gb").at("h100-sxm5-80gb");
  recipe.inputs.at("collectives.json").path = kExcerpts / "README.md";
  const RecipeBook recipes{{recipe.name, recipe}};
  int changed = 0;
  for (const InputState& state : input_states(recipes, kExcerpts))
    if (state.kind == InputState::kChanged) {
      ++changed;
      EXPECT_THAT(line_of(state), HasSubstr("README.md is not the file that the recipe was fitted on (sha256 "));
    }
  EXPECT_EQ(changed, 1);
}

TEST(Recipes, GiveTheShippedProfilesFromCommittedTables) {
  const Tables tables(kExcerpts);
  for (const char* name : {"a100-sxm4-40gb", "a100-pcie-80gb", "v100-sxm2-32gb", "v100-sxm3-32gb"}) {
    const RecipeBook recipes = alone(name);
    Fitting fitting(recipes, tables);
    EXPECT_EQ(text_without_notes(fitting.profile(name)), text_without_notes(*shipped_profile(name))) << name;
  }
}

/// Products of these GPUs are fitted on tables that the repository does not hold. All else is fitted here.
TEST(Recipes, GiveAllButTheProductsOfTheOtherShippedProfiles) {
  const Tables tables(kExcerpts);
  for (const char* name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm-180gb", "gb200-186gb"}) {
    const cost::Profile shipped = *shipped_profile(name);
    RecipeBook recipes = alone(name);
    AttentionRecipe& attention = recipes.at(name).attention;
    if (attention.sustained && std::holds_alternative<FactorOfProducts>(*attention.sustained))
      attention.sustained = shipped.attention.sustained_factor;
    Fitting fitting(recipes, tables);
    const FromProfile own{name, {}};
    cost::Profile profile{.name = name, .gpu = name, .gemm = shipped.gemm};
    profile.misaligned_rows = fitting.misaligned_rows(own);
    profile.attention = fitting.attention(own);
    profile.memory_bound = fitting.memory_bound(own);
    profile.nvlink = fitting.nvlink(own);
    profile.pcie = fitting.pcie(own);
    profile.network = fitting.network(own);
    profile.point_to_point = fitting.point_to_point(own);
    EXPECT_EQ(text_without_notes(profile), text_without_notes(shipped)) << name;
  }
}

/// fp8 begins as the 16-bit law and states the constants that ten rows gave.
TEST(Recipes, GiveTheShippedFp8ProductsFromTheShippedSixteenBitOnes) {
  const Tables tables(kExcerpts);
  for (const char* name : {"h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm-180gb", "gb200-186gb"}) {
    cost::Profile shipped = *shipped_profile(name), fitted = shipped;
    RecipeBook recipes = alone(name);
    Recipe& recipe = recipes.at(name);
    GemmRecipe& fp8 = std::get<GemmRecipe>(recipe.gemm.at(Precision::kFp8));
    fp8.start->profile = "shipped";
    const KnownProfile known = [&](const std::string&) { return std::optional(shipped); };
    Fitting fitting(recipes, tables, known);
    fitted.gemm[Precision::kFp8] = fitting.gemm({name, {}}, Precision::kFp8);
    auto& tiles = std::get<cost::TileWaveLaw>(fitted.gemm[Precision::kFp8].law);
    tiles.multiprocessors = std::get<cost::TileWaveLaw>(shipped.gemm[Precision::kFp8].law).multiprocessors;
    EXPECT_EQ(text_without_notes(fitted), text_without_notes(shipped)) << name;
  }
}

}  // namespace
}  // namespace foretoken::fit

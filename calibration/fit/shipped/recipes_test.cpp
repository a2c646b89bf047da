// Tests the shipped recipes: their inputs, and the profiles that follow from the tables in the repository.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "calibration/fit/recipes/read_recipe.h"
#include "calibration/fit/shipped/fitting.h"
#include "calibration/fit/test_sources.h"
#include "sim/cost/costs.h"
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
  std::set<std::string> expected{
      "a100_sglang.csv",           "a100_trtllm.csv",         "a100_int8.csv", "a100_attention_sglang.csv",
      "a100_attention_trtllm.csv", "a100_attention_vllm.csv", "operators.csv"};
  for (const char* gpu : {"h100", "h200", "b200", "gb200", "b300", "gb300"})
    for (const char* table : {"gemm", "quantisation", "attention_sglang", "attention_vllm", "attention_trtllm",
                              "attention_full", "attention_full_trtllm", "experts", "deepep", "deepep_low_latency"})
      expected.insert(fmt::format("{}_{}.csv", gpu, table));
  for (const char* gpu : {"h100", "h200", "b200", "gb200"})
    expected.insert(fmt::format("{}_attention_full_sglang.csv", gpu));
  expected.insert({"b200_power.csv", "gb200_power.csv", "gb200_alltoall.csv", "h200_deepep_nodes.csv",
                   "h200_deepep_low_latency_nodes.csv"});
  EXPECT_EQ(missing, expected);
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

/// Products stay as shipped, and so does attention that kernel tables give, that of engines of inference among it: the
/// repository does not hold these tables.
/// All else is fitted here.
TEST(Recipes, GiveTheOtherShippedProfilesButForLawsOfKernelTables) {
  const Tables tables(kExcerpts);
  for (const char* name : {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm-180gb", "gb200-186gb"}) {
    const cost::Profile shipped = *shipped_profile(name);
    RecipeBook recipes = alone(name);
    recipes.at(name).serving_tables.clear();
    Fitting fitting(recipes, tables);
    const FromProfile own{name, {}};
    cost::Profile profile = shipped;
    if (recipes.at(name).kernel_tables.empty()) profile.attention = fitting.attention(own);
    profile.attention.serving = shipped.attention.serving;
    if (recipes.at(name).exchange_tables.empty()) profile.exchanges = fitting.exchanges(own);
    profile.misaligned_rows = fitting.misaligned_rows(own);
    profile.memory_bound = fitting.memory_bound(own);
    profile.nvlink = fitting.nvlink(own);
    profile.pcie = fitting.pcie(own);
    profile.network = fitting.network(own);
    profile.point_to_point = fitting.point_to_point(own);
    EXPECT_EQ(text_without_notes(profile), text_without_notes(shipped)) << name;
  }
}

constexpr double kLongRuns = 1.25;  // of the time of brief ones

/// Writes the excerpt's products in fp8 as long runs: each takes a quarter longer.
std::filesystem::path write_long_runs() {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::filesystem::path path = std::filesystem::temp_directory_path() / ("foretoken_long_runs_" + test + ".csv");
  std::ifstream in(kExcerpts / "b300_products.csv");
  std::ofstream out(path);
  std::string line;
  std::getline(in, line);
  out << "dtype,m,n,k,time_us\n";
  while (std::getline(in, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string type;
    std::int64_t m = 0, n = 0, k = 0;
    double time = 0, quantisation = 0;
    fields >> type >> m >> n >> k >> time >> quantisation;
    if (type == "fp8" && time > quantisation && quantisation > 0)
      out << fmt::format("fp8,{},{},{},{}\n", m, n, k, kLongRuns * (time - quantisation));
  }
  return path;
}

/// The recipe of B300 on the excerpts of its tables, which have products in fp8 and in fp8 in blocks.
Recipe b300_of_excerpts() {
  Recipe recipe = alone("b300-sxm-288gb").at("b300-sxm-288gb");
  recipe.inputs.at("b300_gemm.csv").path = kExcerpts / "b300_products.csv";
  recipe.inputs.at("b300_quantisation.csv").path = kExcerpts / "b300_quantisation.csv";
  recipe.inputs["long_runs.csv"].path = write_long_runs();
  const Rows products{.table = "b300_gemm.csv"}, casts{.table = "b300_quantisation.csv"};
  recipe.kernel_tables = {products, casts};
  recipe.expert_tables.clear();
  recipe.exchange_tables.clear();
  recipe.engine_tables.clear();
  std::get<GemmRecipe>(recipe.gemm.at(Precision::kBf16)).sustained = 1.3;
  std::get<GemmRecipe>(recipe.gemm.at(Precision::kFp8)).sustained =
      FactorOfRows{.rows = {.table = "long_runs.csv"}, .shortest = Seconds(1e-4), .corrected = true};
  return recipe;
}

cost::Profile fitted(const Recipe& recipe) {
  const RecipeBook recipes{{recipe.name, recipe}};
  const Tables tables(kExcerpts);
  Fitting fitting(recipes, tables);
  return fitting.profile(recipe.name);
}

double sustained_in(const cost::Profile& profile, Precision precision) {
  return std::get<cost::TileWaveLaw>(profile.gemm.at(precision).law).sustained_factor;
}

TEST(Recipes, SustainedFactorsAreOfTheLawsThatTheKernelTablesGive) {
  const cost::Profile profile = fitted(b300_of_excerpts());
  EXPECT_NEAR(sustained_in(profile, Precision::kFp8), kLongRuns, 0.05) << "the law meets brief runs at the median";
  EXPECT_EQ(sustained_in(profile, Precision::kFp8Block), sustained_in(profile, Precision::kFp8));
  EXPECT_EQ(sustained_in(profile, Precision::kBf16), 1.3);
  EXPECT_EQ(profile.attention.sustained_factor, 1.3) << "the factor of the products in bf16";
}

TEST(Recipes, ProductsTakeTheSustainedFactorOfOtherProducts) {
  Recipe recipe = b300_of_excerpts();
  std::get<GemmRecipe>(recipe.gemm.at(Precision::kFp8)).sustained = FactorOfProducts{Precision::kBf16};
  const cost::Profile profile = fitted(recipe);
  EXPECT_EQ(sustained_in(profile, Precision::kFp8), 1.3);
  EXPECT_EQ(sustained_in(profile, Precision::kFp8Block), 1.3);
  recipe.kernel_tables.clear();
  EXPECT_EQ(sustained_in(fitted(recipe), Precision::kFp8), 1.3) << "a law without tables";
}

TEST(Recipes, BriefRunsSplitTheSpeedOfLongOnes) {
  Recipe recipe = b300_of_excerpts();
  recipe.kernel_tables.clear();
  auto& gemm = std::get<GemmRecipe>(recipe.gemm.at(Precision::kFp8));
  gemm.sustained = std::nullopt;
  gemm.fit = GemmFitRecipe{.rows = {.table = "long_runs.csv"}};
  const cost::Profile whole = fitted(recipe);
  const Rows brief{
      .table = "b300_gemm.csv", .choice = {.where = {{.column = "dtype", .one_of = {"fp8"}}}}, .less = "quant_us"};
  gemm.fit->brief = FactorOfRows{.rows = brief, .corrected = true};
  const cost::Profile split = fitted(recipe);
  EXPECT_EQ(sustained_in(whole, Precision::kFp8), 1);
  EXPECT_NEAR(sustained_in(split, Precision::kFp8), kLongRuns, 0.05);
  const GemmShape shape{.m = 8192, .n = 8192, .k = 8192, .precision = Precision::kFp8};
  EXPECT_NEAR(cost::gemm_time(shape, split) / cost::gemm_time(shape, whole), 1, 1e-4) << "long runs stay as fitted";
}

TEST(Recipes, OtherRecipesTakeTheLawsThatTheKernelTablesGive) {
  RecipeBook recipes{{"b300-sxm-288gb", b300_of_excerpts()}};
  Recipe twin = recipes.begin()->second;
  twin.name = "twin";
  twin.kernel_tables.clear();
  twin.gemm = {{Precision::kFp8,
                GemmRecipe{.start = GemmStart{
                               .profile = "b300-sxm-288gb", .precision = Precision::kFp8, .with_corrections = true}}}};
  recipes.emplace("twin", twin);
  const Tables tables(kExcerpts);
  Fitting fitting(recipes, tables);
  const cost::GemmLaw& taken = fitting.gemm({"twin", {}}, Precision::kFp8);
  const cost::Profile whole = fitting.profile("b300-sxm-288gb");
  const GemmShape shape{.m = 4096, .n = 4096, .k = 4096, .precision = Precision::kFp8};
  EXPECT_EQ(cost::gemm_time(shape, {.gemm = {{Precision::kFp8, taken}}}), cost::gemm_time(shape, whole));
}

}  // namespace
}  // namespace foretoken::fit

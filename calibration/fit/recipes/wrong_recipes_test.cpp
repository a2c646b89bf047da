// Tests wrong recipes: each gives one complaint with its file, its pointer, and the expected value.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "calibration/fit/recipes/read_recipe.h"
#include "calibration/fit/shipped/fitting.h"
#include "calibration/fit/test_sources.h"

namespace foretoken::fit {
namespace {

using testing::HasSubstr;

/// A shipped recipe with an RFC 7396 patch, as a file in the folder of the recipes' tests.
class WrongRecipes : public testing::Test {
 protected:
  WrongRecipes() { std::filesystem::create_directories(folder_); }
  ~WrongRecipes() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& patch) const {
    std::ifstream in(kSource / "calibration/recipes" / (name + ".json"));
    nlohmann::json recipe = nlohmann::json::parse(in);
    recipe.merge_patch(nlohmann::json::parse(patch));
    const std::filesystem::path path = folder_ / (name + ".json");
    std::ofstream(path) << recipe;
    return path;
  }

  template <class Act>
  static std::vector<std::string> complaints_of(const Act& act) {
    std::vector<std::string> lines;
    try {
      act();
    } catch (const ConfigError& error) {
      for (const Complaint& complaint : error.complaints()) lines.push_back(complaint.line());
    }
    return lines;
  }

  [[nodiscard]] static std::string name_of_test() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    return fmt::format("foretoken_{}_{}", test->test_suite_name(), test->name());
  }

  const std::filesystem::path folder_ = std::filesystem::temp_directory_path() / name_of_test();
};

struct WrongRecipe {
  const char *why, *recipe, *patch, *line;
};
constexpr WrongRecipe kWrong[] = {
    {"a misspelt part", "a100-sxm4-40gb", R"({"nvlinks": {}})", "/nvlinks: unknown key; did you mean \"nvlink\"?"},
    {"no such GPU file", "a100-sxm4-40gb", R"({"gpu": "a100-sxm4-41gb"})", "/gpu: unknown GPU \"a100-sxm4-41gb\""},
    {"a table that is no input", "a100-pcie-80gb", R"({"gemm": {"bf16": {"fit": {"rows": {"table": "op.csv"}}}}})",
     "/gemm/bf16/fit/rows/table: expected one of the inputs (operators.csv), found \"op.csv\""},
    {"a test that is no test", "a100-pcie-80gb", R"({"gemm": {"bf16": {"fit": {"rows": {"where": {"m": 128}}}}}})",
     "/gemm/bf16/fit/rows/where/m: expected a text, a list of texts, or {\"least\": NUMBER"},
    {"more than the whole bandwidth", "h100-sxm5-80gb",
     R"({"gemm": {"bf16": {"constants": {"memory_efficiency": 1.2}}}})", "/gemm/bf16/constants/memory_efficiency: "},
    {"a start without all constants", "h100-sxm5-80gb", R"({"gemm": {"bf16": {"constants": {"launch_us": null}}}})",
     "/gemm/bf16/constants: expected efficiency, prologue_k, small_tile_loss, memory_efficiency and launch_us, or"},
    {"a precision that is not there", "a100-sxm4-40gb", R"({"gemm": {"fp16": {"as": "fp8"}}})",
     "/gemm/fp16: \"as\" expects a precision with a law of its own here, found fp8"},
    {"errors beside a fit that finds its own", "a100-sxm4-80gb",
     R"({"gemm": {"bf16": {"evidence": {"provenance": "assumed", "source": "x"}}}})",
     "/gemm/bf16/evidence: expected nothing beside \"fit\""},
    {"a factor of products for products", "h100-sxm5-80gb",
     R"({"gemm": {"bf16": {"sustained_factor": null, "weight_gradient_factor": {"profile": null, "products": "bf16"}}}})",
     "\"products\" is for sustained factors"},
    {"a factor of products without one", "h100-sxm5-80gb",
     R"({"gemm": {"fp8": {"sustained_factor": {"products": "fp16"}}}})",
     "/gemm/fp8: \"sustained_factor\" expects \"products\" with a factor of their own here, found fp16"},
    {"a factor beside brief runs", "a100-sxm4-80gb", R"({"gemm": {"bf16": {"sustained_factor": 1.1}}})",
     "/gemm/bf16/sustained_factor: expected nothing beside \"brief\" of \"fit\", which gives the factor"},
    {"a half sum", "v100-sxm2-32gb", R"({"inputs": {"collectives.json": {"sha256": "20bc"}}})",
     "/inputs/collectives.json/sha256: expected 64 hexadecimal digits, found \"20bc\""},
    {"a series that nobody named", "h100-sxm5-80gb",
     R"({"attention": {"series": {"causal backward 64": {"over": "flash2"}}}})",
     "/attention/series/causal backward 64: stands on \"flash2\", which is no series here"},
    {"no form of attention", "a100-sxm4-40gb", R"({"attention": {"profile": null}})",
     "/attention: expected \"series\" (with halves, laws, flash_2), \"profile\" (with evidence) or \"rows\""},
    {"tables to check without a source", "v100-sxm2-32gb", R"({"network": {"evidence": null}})",
     "/network/evidence: missing beside \"checked_on\"; expected an object"},
};

TEST_F(WrongRecipes, GiveOneLineEach) {
  for (const auto& [why, recipe, patch, line] : kWrong) {
    const std::filesystem::path path = write(recipe, patch);
    const auto lines = complaints_of([&] { (void)read_recipe(path); });
    EXPECT_EQ(lines.size(), 1u) << why << "\n" << testing::PrintToString(lines);
    if (lines.empty()) continue;
    EXPECT_THAT(lines.front(), HasSubstr(path.string() + ": ")) << why;
    EXPECT_THAT(lines.front(), HasSubstr(line)) << why;
  }
}

TEST_F(WrongRecipes, SeriesThatStandOnThemselvesAreNamed) {
  const auto path = write("h100-sxm5-80gb", R"({"attention": {"series": {
      "causal backward 64": {"base": "causal backward 256"}, "causal backward 128": {"base": "causal backward 64"}}}})");
  const auto lines = complaints_of([&] { (void)read_recipe(path); });
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), HasSubstr("which stands on it again"));
}

/// Mistakes that only show when the tables and the other profiles are there.
class WrongFits : public WrongRecipes {
 protected:
  [[nodiscard]] std::vector<std::string> fit(const std::string& name, const std::string& patch) const {
    const RecipeBook recipes = read_recipes({write(name, patch).string()});
    const Tables tables(kSource / "calibration/fit/testdata");
    Fitting fitting(recipes, tables);
    return complaints_of([&] { (void)fitting.profile(name); });
  }
};

constexpr WrongRecipe kWrongFits[] = {
    {"a profile that nobody has", "a100-sxm4-40gb", R"({"pcie": {"profile": "a100-sxm4-90gb"}})",
     "/pcie/profile: unknown profile \"a100-sxm4-90gb\""},
    {"a part of itself", "a100-sxm4-40gb", R"({"pcie": {"profile": "a100-sxm4-40gb"}})",
     "/pcie: the PCIe law of \"a100-sxm4-40gb\" stands on itself through this"},
    {"a precision that the other profile lacks", "a100-sxm4-40gb",
     R"({"gemm": {"bf16": {"start": {"precision": "fp8"}}}})",
     "/gemm/bf16/start: a100-sxm4-80gb has no law of fp8 products"},
    {"a column that the table lacks", "a100-pcie-80gb",
     R"({"gemm": {"bf16": {"fit": {"rows": {"where": {"dtype": "bf16"}}}}}})", "operators.csv:1: no column dtype"},
    {"rows that nothing passes", "a100-pcie-80gb",
     R"({"gemm": {"bf16": {"fit": {"rows": {"where": {"system": "a100"}}}}}})",
     "operators.csv: no row of those asked for; look at the columns' values"},
    {"weight gradients only", "a100-pcie-80gb", R"({"gemm": {"bf16": {"fit": {"rows": {"layout": "NT"}}}}})",
     "/gemm/bf16/fit/rows: no product with m of at least 128"},
    {"an input that nobody gathered", "a100-pcie-80gb", R"({"inputs": {"operators.csv": {"file": "operators.csv"}}})",
     "/inputs/operators.csv: missing: "},
    {"GPUs without a table", "v100-sxm2-32gb", R"({"nvlink": {"tables": {"gpus": ["v200"]}}})",
     "/nvlink/tables: no table of all-reduce inside a node among GPUs whose name begins with v200"},
};

TEST_F(WrongFits, GiveOneLineEach) {
  for (const auto& [why, recipe, patch, line] : kWrongFits) {
    std::string changed = patch;
    if (std::string_view(recipe) == "v100-sxm2-32gb")
      changed.insert(1, fmt::format(R"("inputs": {{"collectives.json": {{"file": "{}"}}}}, )",
                                    (kSource / "calibration/measurements/collectives.json").string()));
    const auto lines = fit(recipe, changed);
    EXPECT_EQ(lines.size(), 1u) << why << "\n" << testing::PrintToString(lines);
    if (lines.empty()) continue;
    EXPECT_THAT(lines.front(), HasSubstr(line)) << why;
  }
}

}  // namespace
}  // namespace foretoken::fit

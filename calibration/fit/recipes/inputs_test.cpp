// Tests the list of measured tables behind the shipped profiles, and the script that gathers them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibration/fit/test_sources.h"

namespace foretoken::fit {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Fetched {
  int status;
  std::string output;
};

/// A folder for each test. Every call gathers the inputs anew.
class RecipeInputs : public testing::Test {
 protected:
  RecipeInputs() { std::filesystem::remove_all(folder_); }
  ~RecipeInputs() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Fetched fetch() const {
    const std::string output = folder_.string() + ".txt";
    const std::string script = (kSource / "calibration/recipes/fetch").string();
    const int status = std::system(fmt::format("'{}' '{}' >'{}'", script, folder_.string(), output).c_str());
    std::stringstream text;
    text << std::ifstream(output).rdbuf();
    std::filesystem::remove(output);
    return {WEXITSTATUS(status), text.str()};
  }
  void write(const std::string& name) const { std::ofstream(folder_ / name) << "measured elsewhere\n"; }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      fmt::format("foretoken_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
};

constexpr const char* kElsewhere[] = {"a100_sglang.csv", "h100.csv",  "h200.csv",
                                      "b200.csv",        "gb200.csv", "operators.csv"};

TEST_F(RecipeInputs, NamesInputsOutsideTheRepositoryWithTheirSource) {
  const Fetched fetched = fetch();
  EXPECT_EQ(fetched.status, 1);
  for (const char* name : kElsewhere)
    EXPECT_THAT(fetched.output, HasSubstr(fmt::format("missing: {}/{}\n  source: https://", folder_.string(), name)));
  EXPECT_THAT(fetched.output, HasSubstr("6 of the inputs are missing or changed"));
  EXPECT_THAT(fetched.output, Not(HasSubstr("\nchanged: ")));
}

TEST_F(RecipeInputs, GivesTheCommandWhenAllAreThere) {
  (void)fetch();
  for (const char* name : kElsewhere) write(name);
  const Fetched fetched = fetch();
  EXPECT_EQ(fetched.status, 0);
  EXPECT_THAT(fetched.output, HasSubstr(fmt::format("--gemm gb200-186gb={}/gb200.csv", folder_.string())));
  EXPECT_THAT(fetched.output, HasSubstr(fmt::format("--collectives {}/collectives.json", folder_.string())));
}

TEST_F(RecipeInputs, RefusesAChangedFile) {
  (void)fetch();
  write("flash_attention.json");
  EXPECT_THAT(fetch().output, HasSubstr(fmt::format("changed: {}/flash_attention.json", folder_.string())));
}

}  // namespace
}  // namespace foretoken::fit

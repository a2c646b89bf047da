// Tests that `foretoken explain` says which overlaps cost more than they hide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGathering = R"({"name": "gathering", "model": "gpt-7.5b", "cluster": "selene", "gpus": 16,
    "runtime": "deepspeed-zero3-2021", "optimizer": {"zero_stage": 1}, "recompute": "full",
    "batch": {"micro": 1, "global": 64, "sequence_length": 512}, "overlap": {"param_gather": true}})";

TEST(Explain, SaysWhichOverlapCostsMoreThanItHides) {
  const TemporaryFolder folder;
  const std::string scenario = folder.put("s.json", kGathering);
  const Ran text = run_foretoken({"explain", scenario});
  EXPECT_THAT(text.out, HasSubstr("overlap.param_gather costs more than it hides"));
  const json answer = json::parse(run_foretoken({"explain", scenario, "--json"}).out);
  ASSERT_EQ(answer["costly_overlaps"].size(), 1U);
  const json& costly = answer["costly_overlaps"][0];
  EXPECT_EQ(costly["overlap"], "overlap.param_gather");
  EXPECT_LT(costly["step_change"], 0);

  const Ran without = run_foretoken({"explain", scenario, "--set", "overlap.param_gather=false"});
  EXPECT_THAT(without.out, Not(HasSubstr("costs more than it hides")));
}

}  // namespace
}  // namespace foretoken::tools

// Tests `foretoken report` from outside: whole files, the same bytes, sizes, scenarios of every kind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/base/test_sanitized.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Report, IsWholeAndTheSameEveryTime) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "gpt-22b-8-a100-sp", "-o", folder.file("a.html")}).status, 0);
  const std::string first = contents(folder.file("a.html"));
  ASSERT_EQ(run_foretoken({"report", "gpt-22b-8-a100-sp", "-o", folder.file("a.html")}).status, 0);
  EXPECT_EQ(first, contents(folder.file("a.html")));
  EXPECT_THAT(first, testing::EndsWith("</html>\n"));
  EXPECT_THAT(folder.names(), ElementsAre("a.html"));
}

TEST(Report, ATrillionParametersOn3072GpusStayBelowTwoMegabytes) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "gpt-1t-3072-a100", "-o", folder.file("big.html")}).status, 0);
  const std::string page = contents(folder.file("big.html"));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr("Training gpt-1t on 450 billion tokens with 3,072"));
}

TEST(Report, DaysAndCostOfTheVerdictHaveIntervals) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "gpt3-175b-1024-a100", "-o", folder.file("r.html")}).status, 0);
  const std::string page = contents(folder.file("r.html"));
  EXPECT_THAT(
      page, testing::ContainsRegex("90 % of such runs take [0-9.]+‑[0-9.]+ days and cost [0-9.]+‑[0-9.]+ million USD"));
  EXPECT_THAT(page, testing::ContainsRegex(
                        "<dt>Cost</dt><dd>[0-9.]+ million USD</dd><dd class=\"note\">90 % of runs: [0-9.]+‑"));
  EXPECT_THAT(page, HasSubstr("class=\"band"));
}

TEST(Report, StandardInputAndOverridesAreReproducible) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const TemporaryFolder folder;
  const std::string scenario =
      R"({"model":"llama-2-7b","cluster":"dgx-a100-80gb-hdr","gpus":1,"batch":{"micro":1,"global":1,"sequence_length":4096}})";
  const Ran ran = run_foretoken({"report", "-", "--set", "name=\"it's 7B\"", "-o", folder.file("r.html")}, scenario);
  EXPECT_EQ(ran.status, 0) << ran.err;
  const std::string page = contents(folder.file("r.html"));
  EXPECT_THAT(page, HasSubstr("--set 'name=&quot;it'\\''s 7B&quot;'"));
  EXPECT_THAT(page, HasSubstr("\"name\": \"it's 7B\""));
}

TEST(Report, WhatDoesNotFitIsSaidAndWritten) {
  const TemporaryFolder folder;
  const Ran ran = run_foretoken(
      {"report", "llama-2-7b-8-a100", "--set", "batch.micro=8", "--require-fit", "-o", folder.file("r.html")});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(contents(folder.file("r.html")), HasSubstr("does not fit on 8"));
}

// An answer of `foretoken plan --json` (docs/user/plan.md): two options and the keys that a report shows.
std::string plan_json(const std::string& p90, const std::string& scenario) {
  const std::string possible =
      R"("configuration":{"tensor":1,"pipeline":1,"virtual_pipeline":1,"context":1,"data":8,"micro":1,"recompute":"none",
         "sequence_parallel":false,"zero_stage":1},"expected_days":11,"p50_days":10.5,"p90_days":)" +
      p90 +
      R"(,"goodput":0.95,"gpu_hours":2112,"cost":5280,"energy_mwh":1.5,"scaling_efficiency":1,"meets_deadline":true,
         "within_budget":true,"scenario":)" +
      scenario + "}";
  return R"({"name":"x","tokens":3e9,"deadline_days":30,"budget":null,"currency":"EUR","smallest":1,"cheapest":1,"options":[
         {"cluster":"dgx-a100-80gb-hdr","gpus":3,"impossible":"no configuration of 3 GPUs"},
         {"cluster":"dgx-a100-80gb-hdr","gpus":8,"impossible":null,)" +
         possible + "]}";
}
constexpr const char* kPlanned = R"({"model":"llama-2-7b","cluster":"dgx-a100-80gb-hdr","gpus":8,
    "optimizer":{"zero_stage":1},"batch":{"micro":1,"global":64,"sequence_length":4096}})";

TEST(Report, APlanIsShownWithTheOptionItRecommends) {
  const TemporaryFolder folder;
  const Ran ran =
      run_foretoken({"report", folder.put("plan.json", plan_json("12", kPlanned)), "-o", folder.file("r.html")});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const std::string page = contents(folder.file("r.html"));
  EXPECT_THAT(page, HasSubstr("<section id=\"plan\">"));
  EXPECT_THAT(page, HasSubstr("The cheapest: 8 GPUs of dgx-a100-80gb-hdr for 5,280 EUR."));
  EXPECT_THAT(page, HasSubstr("no configuration of 3 GPUs"));
  EXPECT_THAT(page, HasSubstr("llama-2-7b on 8 a100-sxm4-80gb GPUs"));
}

TEST(Report, APlanTellsOneStoryWithItsAssumptions) {
  const TemporaryFolder folder;
  const Ran planned = run_foretoken({"plan", "llama-2-7b-8-a100", "--tokens", "30B", "--deadline", "40d", "--json"});
  ASSERT_EQ(run_foretoken(
                {"report", folder.put("plan.json", planned.out), "--date", "2026-01-05", "-o", folder.file("r.html")})
                .status,
            0);
  const std::string page = contents(folder.file("r.html"));
  for (const char* words : {"without failures", "With failures and checkpoints half of such runs are done in",
                            "50,000 hours between interruptions of one GPU", "to restart", "PUE 1.1", "to write",
                            "foretoken plan llama-2-7b-8-a100 --tokens 30B --deadline 40d --json", "2026-01-05"})
    EXPECT_THAT(page, HasSubstr(words));
}

TEST(Report, APlanTakesNoOverrides) {
  const TemporaryFolder folder;
  const Ran ran = run_foretoken({"report", folder.put("plan.json", plan_json("12", kPlanned)), "--set", "batch.micro=2",
                                 "-o", folder.file("r.html")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--set: expected no --set with a plan"));
  EXPECT_THAT(folder.names(), ElementsAre("plan.json"));
}

TEST(Report, SchedulesMeetTheSameSlowHardware) {
  const TemporaryFolder folder;
  const std::string scenario =
      R"({"model":"llama-2-7b","cluster":"dgx-a100-80gb-hdr","gpus":2,"parallelism":{"pipeline":2},)"
      R"("batch":{"micro":1,"global":4,"sequence_length":4096},"imperfections":{"slow_gpus":[{"gpu":0,"slowdown":2}]}})";
  ASSERT_EQ(run_foretoken({"report", "-", "-o", folder.file("r.html")}, scenario).status, 0);
  const json step = json::parse(run_foretoken({"simulate", "-", "--json"}, scenario).out);
  const std::string page = contents(folder.file("r.html"));
  EXPECT_THAT(page, testing::ContainsRegex(fmt::format("data-sort=\"{:.9g}\"[^>]*>[0-9.]+ m?s</td><td class=\"n\" "
                                                       "data-sort=\"0\"[^>]*>this one",
                                                       step["step_time_s"].get<double>())));
  EXPECT_THAT(page, HasSubstr("1 slow GPU"));
  EXPECT_THAT(page, HasSubstr("a search needs equal hardware"));
}

TEST(Report, AWrongPlanIsOneClearLine) {
  const TemporaryFolder folder;
  const Ran ran =
      run_foretoken({"report", folder.put("plan.json", plan_json("\"soon\"", kPlanned)), "-o", folder.file("r.html")});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("/options/1/p90_days: expected a positive number"));
  EXPECT_THAT(folder.names(), ElementsAre("plan.json"));
}

TEST(Report, AWrongScenarioLeavesNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_foretoken({"report", "gpt3-175b-1024-a100", "--set", "gpus=7", "-o", folder.file("r.html")}).status, 2);
  EXPECT_THAT(folder.names(), testing::IsEmpty());
}

}  // namespace
}  // namespace foretoken::tools

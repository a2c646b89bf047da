// Tests `foretoken plan` from outside, and numbers with letters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/base/test_sanitized.h"
#include "tools/options/quantity.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;

TEST(Quantity, CountsAndTimesHaveLetters) {
  EXPECT_EQ(parse_count("--tokens", "300B"), 300e9);
  EXPECT_EQ(parse_count("--tokens", "2T"), 2e12);
  EXPECT_EQ(parse_count("--budget", "1.5M"), 1.5e6);
  EXPECT_EQ(parse_count("--tokens", "3e11"), 3e11);
  EXPECT_EQ(parse_seconds("--deadline", "30d"), 30 * 86400);
  EXPECT_EQ(parse_seconds("--restart", "10m"), 600);
  for (const char* wrong : {"", "B", "-3B", "3X", "0", "nan", "inf", "3 B"})
    EXPECT_THROW((void)parse_count("--tokens", wrong), ConfigError) << wrong;
  for (const char* wrong : {"30", "d", "0d", "-1h", "1y"})
    EXPECT_THROW((void)parse_seconds("--deadline", wrong), ConfigError) << wrong;
}

json plan(std::vector<std::string> arguments, int status) {
  arguments.insert(arguments.begin(), "plan");
  arguments.emplace_back("--json");
  const Ran ran = run_foretoken(arguments);
  EXPECT_EQ(ran.status, status) << ran.err;
  return ran.out.empty() ? json() : json::parse(ran.out);
}

// The published estimate of GPT-3 is 24 days (the software of arXiv:2205.05198), with the authors' configuration.
TEST(PlanCommand, Gpt3TakesTwentyFourDays) {
  const json answer = plan({"gpt3-175b-1024-a100", "--tokens", "300B"}, 0);
  ASSERT_EQ(answer["options"].size(), 1u);
  const json& row = answer["options"][0];
  EXPECT_NEAR(row["training_days"].get<double>(), 24, 3);
  EXPECT_GT(row["p50_days"], row["training_days"]);
  EXPECT_GT(row["p90_days"], row["p50_days"]);
  EXPECT_NEAR(row["goodput"].get<double>(), row["training_days"].get<double>() / row["expected_days"].get<double>(),
              1e-12);
  EXPECT_NEAR(row["cost"].get<double>(), row["expected_days"].get<double>() * 24 * 1024 * 2.5, 1);
  EXPECT_NEAR(row["energy_mwh"].get<double>(), row["gpu_hours"].get<double>() * 400 * 1.1 / 1e6, 1e-6);
}

TEST(PlanCommand, IntervalsFollowThatOfTheStep) {
  const json answer = plan({"gpt3-175b-1024-a100", "--tokens", "300B"}, 0);
  const json& row = answer["options"][0];
  EXPECT_EQ(row["step_time_s_interval"], row["result"]["step_time_s_interval"]);
  for (const std::string key : {"step_time_s", "training_days", "expected_days", "gpu_hours", "cost", "energy_mwh"}) {
    SCOPED_TRACE(key);
    const double value = row[key], low = row[key + "_interval"][0], high = row[key + "_interval"][1];
    EXPECT_LT(low, value);
    EXPECT_GT(high, value);
    const double step_low = row["step_time_s_interval"][0].get<double>() / row["step_time_s"].get<double>();
    EXPECT_NEAR(low / value, step_low, 0.01);  // a slower run meets more failures
  }
  for (const std::size_t end : {0U, 1U}) {
    const double days = row["days_interval"][end], hours = row["gpu_hours_interval"][end];
    EXPECT_DOUBLE_EQ(hours, days * 24 * 1024) << "one story";
  }
  EXPECT_EQ(row["training_days_interval"][1].get<double>(),
            300e9 / (1536 * 2048) * row["step_time_s_interval"][1].get<double>() / 86400);
  const json wide = plan({"gpt3-175b-1024-a100", "--tokens", "300B", "--interval", "95"}, 0)["options"][0];
  EXPECT_GT(wide["training_days_interval"][1], row["training_days_interval"][1]);
  EXPECT_GT(wide["days_interval"][1], row["days_interval"][1]);
}

TEST(PlanCommand, P50AndP90CountTheErrorOfTheStepAndDeadlinesHaveAChance) {
  const json row = plan({"gpt3-175b-1024-a100", "--tokens", "300B"}, 0)["options"][0];
  const double p50 = row["p50_days"], p90 = row["p90_days"];
  EXPECT_GT(p90 / p50, 1.02) << "failures alone move P90 by less than 1 %";
  EXPECT_LT(row["days_interval"][0], p50);
  EXPECT_GT(row["days_interval"][1], p90);
  const auto chance_within = [](double days, int status) {
    const json answer =
        plan({"gpt3-175b-1024-a100", "--tokens", "300B", "--deadline", std::to_string(days) + "d"}, status);
    EXPECT_EQ(answer["options"][0]["meets_deadline"], status == 0);
    return answer["options"][0]["chance_of_deadline"].get<double>();
  };
  EXPECT_NEAR(chance_within(p50 + 1e-3, 0), 0.5, 0.01);
  EXPECT_NEAR(chance_within(p90, 0), 0.9, 0.01);
  EXPECT_LT(chance_within(p50 * 0.99, 1), 0.5);
  EXPECT_THAT(
      run_foretoken({"plan", "gpt3-175b-1024-a100", "--tokens", "300B", "--deadline", std::to_string(p90) + "d"}).out,
      testing::HasSubstr("90 %"));
}

TEST(PlanCommand, ABudgetHasAChanceToo) {
  const json row = plan({"gpt3-175b-1024-a100", "--tokens", "300B"}, 0)["options"][0];
  const double dear = row["p90_days"].get<double>() * 24 * 1024 * 2.5;
  const json within =
      plan({"gpt3-175b-1024-a100", "--tokens", "300B", "--budget", std::to_string(dear)}, 0)["options"][0];
  EXPECT_NEAR(within["chance_of_budget"].get<double>(), 0.9, 0.01);
  EXPECT_EQ(within["chance"], within["chance_of_budget"]);
}

TEST(PlanCommand, WithoutAPriceTheChanceOfABudgetIsUnknown) {
  const std::vector<std::string> words{"gpt3-175b-1024-a100", "--tokens", "300B", "--clusters",
                                       "dgx-h100-ndr",        "--budget", "2M"};
  const json answer = plan(words, 1);
  for (const char* key : {"chance_of_budget", "within_budget", "chance"})
    EXPECT_TRUE(answer["options"][0][key].is_null()) << key;
  EXPECT_TRUE(answer["smallest"].is_null());
  std::vector<std::string> as_text{"plan"};
  as_text.insert(as_text.end(), words.begin(), words.end());
  const std::string text = run_foretoken(as_text).out;
  EXPECT_THAT(text, testing::HasSubstr("budget is unknown."));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("< 1 %")));
}

TEST(PlanCommand, PrintsTheWarningsOfItsRows) {
  const std::vector<std::string> words{"gpt3-175b-1024-a100", "--tokens", "300B", "--set",
                                       "cluster.node.nvlink.gb_per_s_per_gpu=2000"};
  const json answer = plan(words, 0);
  const json& warnings = answer["options"][0]["result"]["warnings"];
  ASSERT_FALSE(warnings.empty());
  std::vector<std::string> as_text{"plan"};
  as_text.insert(as_text.end(), words.begin(), words.end());
  const std::string text = run_foretoken(as_text).out, first = warnings[0];
  EXPECT_THAT(text, testing::HasSubstr("Warnings\n"));
  EXPECT_THAT(text, testing::HasSubstr(first.substr(0, 40)));
}

TEST(PlanCommand, ScenariosHoldNoPathOfThisMachine) {
  const TemporaryFolder folder;
  folder.put("my-model.json", R"({"base": "gpt2-medium", "n_layer": 12})");
  const std::string scenario = folder.put("s.json", R"({"model": "./my-model.json", "gpus": 8,
      "cluster": {"base": "dgx-a100-80gb-hdr", "gpu": {"base": "a100-sxm4-80gb"}}, "run": {"tokens": 1e9},
      "batch": {"micro": 1, "global": 16, "sequence_length": 256}})");
  const json row = plan({scenario}, 0)["options"][0];
  const std::string saved = row["scenario"].dump();
  EXPECT_THAT(saved, testing::Not(testing::HasSubstr("my-model.json")));
  EXPECT_THAT(saved, testing::Not(testing::HasSubstr(scenario.substr(0, scenario.rfind('/')))));
  EXPECT_EQ(row["scenario"]["model"]["n_layer"], 12);
  const Ran again = run_foretoken({"simulate", "-", "--json"}, saved);
  EXPECT_EQ(json::parse(again.out)["step_time_s"], row["step_time_s"]) << again.err;
}

TEST(PlanCommand, SaysWhatMadeIt) {
  const json answer = plan({"gpt3-175b-1024-a100", "--tokens", "300B", "--set", "name=a b"}, 0);
  EXPECT_EQ(answer["command"], "foretoken plan gpt3-175b-1024-a100 --tokens 300B --set 'name=a b' --json");
  EXPECT_FALSE(answer["version"].get<std::string>().empty());
}

TEST(PlanCommand, PricesBelongToTheirClusters) {
  // The scenario's price belongs to its own cluster. dgx-h100-ndr has no price, aws-p5 has a list price.
  const auto prices = [](std::vector<std::string> more) {
    std::vector<std::string> asked = {"gpt3-175b-1024-a100", "--tokens", "300B", "--set", "runtime=megatron-core"};
    asked.insert(asked.end(), more.begin(), more.end());
    json found = json::array();
    const json answer = plan(asked, 0);
    for (const json& row : answer["options"]) found.push_back(row["price_per_gpu_hour"]);
    return found;
  };
  EXPECT_EQ(prices({}), json::parse("[2.5]"));
  EXPECT_EQ(prices({"--clusters", "dgx-h100-ndr,aws-p5"}), json::parse("[null, 6.88]"));
  EXPECT_EQ(prices({"--clusters", "dgx-a100-80gb-hdr,aws-p5"}), json::parse("[2.5, 6.88]"));
  EXPECT_EQ(prices({"--clusters", "dgx-h100-ndr,aws-p5", "--price", "3"}), json::parse("[3.0, 3.0]"));
}

TEST(PlanCommand, TheSmallestThatMeetsTheDeadlineAndTheCheapestWithinIt) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const std::vector<std::string> sizes = {"llama-3-8b-8-h200",     "--free", "all",    "--tokens", "100B", "--fix",
                                          "parallelism.context=1", "--gpus", "8:64:x2"};
  const json all = plan(sizes, 0);
  ASSERT_EQ(all["options"].size(), 4u);
  EXPECT_EQ(all["smallest"], 0);
  EXPECT_EQ(all["options"][1]["scenario"]["name"], "llama-3-8b on 16 GPUs of hgx-h200-ndr");
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_LT(all["options"][i]["p90_days"], all["options"][i - 1]["p90_days"]);
    EXPECT_LE(all["options"][i]["scaling_efficiency"].get<double>(), 1.02);
  }
  const double deadline = all["options"][2]["p90_days"].get<double>() * 1.001;
  std::vector<std::string> asked = sizes;
  asked.insert(asked.end(), {"--deadline", std::to_string(deadline) + "d", "--price", "3"});
  const json timely = plan(asked, 0);
  EXPECT_EQ(timely["smallest"], 2);
  EXPECT_FALSE(timely["options"][1]["meets_deadline"]);
  EXPECT_TRUE(timely["options"][3]["meets_deadline"]);
  const double least = std::min(timely["options"][2]["cost"].get<double>(), timely["options"][3]["cost"].get<double>());
  EXPECT_EQ(timely["options"][timely["cheapest"].get<std::size_t>()]["cost"], least);
  asked.insert(asked.end(), {"--budget", "1"});
  EXPECT_TRUE(plan(asked, 1)["smallest"].is_null());
}

TEST(PlanCommand, ARunThatNeverEndsIsNone) {
  const json answer = plan({"gpt3-175b-1024-a100", "--tokens", "300B", "--mtbf", "0.001"}, 1);
  EXPECT_THAT(answer["options"][0]["impossible"].get<std::string>(), testing::HasSubstr("100 years"));
}

TEST(PlanCommand, RowsThatCannotBeSayWhy) {
  const json answer = plan({"gpt3-175b-1024-a100", "--free", "all", "--tokens", "300B", "--gpus", "8,1000",
                            "--clusters", "dgx-a100-80gb-hdr"},
                           1);
  for (const json& row : answer["options"]) EXPECT_FALSE(row["impossible"].get<std::string>().empty());
  const Ran text = run_foretoken({"plan", "gpt3-175b-1024-a100", "--tokens", "300X"});
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.err, testing::HasSubstr("300B"));
}

}  // namespace
}  // namespace foretoken::tools

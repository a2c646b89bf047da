// Tests `foretoken whatif` from outside: rows against simulate, threads, impossible combinations, CSV.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(WhatIf, EveryRowIsWhatSimulateSays) {
  const Ran ran =
      run_foretoken({"whatif", "gpt-22b-8-a100-sp", "--vary", "cluster.node.nvlink.gb_per_s_per_gpu=150,300", "--vary",
                     "batch.micro=2,4", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  ASSERT_EQ(answer["rows"].size(), 4U);
  for (const json& row : answer["rows"]) {
    std::vector<std::string> words{"simulate", "gpt-22b-8-a100-sp", "--json"};
    for (const auto& [key, value] : row["set"].items()) {
      words.emplace_back("--set");
      words.push_back(key + "=" + value.get<std::string>());
    }
    EXPECT_EQ(row["result"]["step_time_s"], json::parse(run_foretoken(words).out)["step_time_s"]) << row["set"];
    EXPECT_DOUBLE_EQ(row["step_time_to_base"].get<double>(),
                     row["result"]["step_time_s"].get<double>() / answer["base"]["step_time_s"].get<double>());
  }
}

TEST(WhatIf, AnotherClusterBringsItsOwnCosts) {
  const std::string scenario =
      R"({"model":"llama-2-7b","cluster":"dgx-a100-80gb-hdr","profile":"a100-sxm4-80gb","gpus":8,)"
      R"("batch":{"micro":1,"global":16,"sequence_length":4096}})";
  const Ran ran = run_foretoken({"whatif", "-", "--vary", "cluster=dgx-h100-ndr", "--json"}, scenario);
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Ran own =
      run_foretoken({"simulate", "-", "--set", "cluster=dgx-h100-ndr", "--set", "profile=null", "--json"}, scenario);
  EXPECT_EQ(json::parse(ran.out)["rows"][0]["result"]["step_time_s"], json::parse(own.out)["step_time_s"]);
}

TEST(WhatIf, MemoryIsWhatSimulateAndCompareShow) {
  const auto memory = json::parse(run_foretoken({"simulate", "gpt-7.5b-128-a100", "--json"}).out)["memory"];
  const double needed = memory["peak_bytes"].get<double>() + memory["outside_allocator_bytes"].get<double>();
  const std::string cell = fmt::format("  {:.1f}  ", needed / (1024.0 * 1024 * 1024));
  const Ran whatif = run_foretoken({"whatif", "gpt-7.5b-128-a100", "--vary", "batch.micro=1,2"});
  EXPECT_THAT(whatif.out, testing::HasSubstr(cell));
  EXPECT_THAT(whatif.out, testing::HasSubstr("GiB: memory that the fullest GPU needs"));
  const Ran compare = run_foretoken({"compare", "gpt-39b-512-a100", "--schedules", "1f1b"});
  EXPECT_THAT(compare.out, testing::HasSubstr("GiB: memory that the fullest GPU needs"));
}

// The scenario states a price with its own cluster. aws-p5 has a list price, dgx-h100-ndr has none.
TEST(WhatIf, AStatedPriceBelongsToItsCluster) {
  const auto costs = [](std::vector<std::string> more) {
    std::vector<std::string> words{"whatif", "gpt3-175b-1024-a100", "--vary",
                                   "cluster=dgx-a100-80gb-hdr,aws-p5,dgx-h100-ndr", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_foretoken(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    std::vector<double> prices;
    const json answer = json::parse(ran.out);
    for (const json& row : answer["rows"]) {
      const json& run = row["result"]["run"];
      prices.push_back(run["cost"].is_null() ? 0 : run["cost"].get<double>() / run["gpu_hours"].get<double>());
    }
    return prices;
  };
  EXPECT_THAT(costs({}), testing::Pointwise(testing::DoubleEq(), {2.5, 6.88, 0.0}));
  EXPECT_THAT(costs({"--vary", "run.price_per_gpu_hour=3"}), testing::Pointwise(testing::DoubleEq(), {3.0, 3.0, 3.0}));
}

TEST(WhatIf, AServicesPriceBelongsToItsClusterToo) {
  const auto costs = [](std::vector<std::string> more) {
    std::vector<std::string> words{"whatif", "llama-3-70b-chat-8-h100", "--vary", "cluster=dgx-h100-ndr,aws-p5",
                                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    json found = json::array();
    const json answer = json::parse(run_foretoken(words).out);
    for (const json& row : answer["rows"]) found.push_back(row["result"]["cost_per_million_output_tokens"]);
    return found;
  };
  const json plain = costs({}), priced = costs({"--set", "price_per_gpu_hour=3"});
  EXPECT_TRUE(plain[0].is_null());
  EXPECT_FALSE(priced[0].is_null());
  EXPECT_FALSE(plain[1].is_null());
  EXPECT_EQ(priced[1], plain[1]);
}

TEST(WhatIf, ByWithoutATornadoIsRefused) {
  const Ran ran = run_foretoken({"whatif", "gpt-22b-8-a100-sp", "--vary", "batch.micro=1,2", "--by", "0.2"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err, "foretoken whatif: --by changes the properties of --tornado; add it, or leave --by out\n");
}

TEST(WhatIf, ThreadsDoNotChangeTheAnswer) {
  const std::vector<std::string> words{"whatif", "gpt-22b-8-a100-sp", "--vary", "batch.micro=1,2,4", "--tornado"};
  std::vector<std::string> threaded = words;
  threaded.insert(threaded.end(), {"--threads", "4"});
  const Ran one = run_foretoken(words);
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, run_foretoken(threaded).out);
  EXPECT_THAT(one.out, HasSubstr("GPU arithmetic rate"));
}

TEST(WhatIf, AnImpossibleCombinationIsShownWithItsReason) {
  const Ran ran = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "batch.global=1536,1537"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("  batch.global: expected a multiple of "));
  const Ran deep = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "cluster.node.nics.gb_per_s=25,x"});
  EXPECT_THAT(deep.out, HasSubstr("  cluster.node.nics.gb_per_s: expected a number "));
}

TEST(WhatIf, WhereAllAreImpossibleEachHasItsOwnLines) {
  const Ran one = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "batch.global=1537,1539"});
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.out, testing::IsEmpty());
  EXPECT_THAT(one.err, testing::MatchesRegex("[^:\n]*gpt3-175b-1024-a100.json: batch.global = 1537: batch.global: "
                                             "expected a multiple of [^\n]+\n"
                                             "[^:\n]*gpt3-175b-1024-a100.json: batch.global = 1539: batch.global: "
                                             "expected a multiple of [^\n]+\n"));
  const Ran two =
      run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "batch.global=1537,1538", "--vary", "batch.micro=1,x"});
  EXPECT_EQ(two.status, 2);
  EXPECT_EQ(std::count(two.err.begin(), two.err.end(), '\n'), 4);
  EXPECT_THAT(two.err, HasSubstr("batch.global = 1538, batch.micro = x: batch.micro: expected a whole number"));
}

TEST(WhatIf, WhereAllAreImpossibleEveryReasonIsNamed) {
  const Ran alike = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "parallelism.tensor=7"});
  EXPECT_THAT(alike.err, testing::MatchesRegex("[^:\n]*.json: gpus: expected a multiple of [^\n]+\n"
                                               "([^:\n]*.json: parallelism.tensor: expected a divisor of [^\n]+\n)+"
                                               "[^:\n]*.json: batch.sequence_length: [^\n]+\n"));
  std::string values = "1537";
  for (int value = 1538; value < 1548; ++value) values += fmt::format(",{}", value);
  const Ran many = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "batch.global=" + values});
  EXPECT_EQ(many.status, 2);
  EXPECT_EQ(std::count(many.err.begin(), many.err.end(), '\n'), 11);
  EXPECT_THAT(many.err, testing::EndsWith("gpt3-175b-1024-a100.json: and 1 more\n"));
}

TEST(WhatIf, CsvHasAsManyFieldsInEveryLine) {
  const Ran ran = run_foretoken({"whatif", "gpt3-175b-1024-a100", "--vary", "batch.global=1536,1537", "--csv"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const std::string head = ran.out.substr(0, ran.out.find('\n'));
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 4);
  EXPECT_THAT(head, testing::StartsWith("batch.global,step_time_s,step_time_to_base,"));
  EXPECT_THAT(ran.out, HasSubstr(",\"batch.global: expected a multiple of "));
}

}  // namespace
}  // namespace foretoken::tools

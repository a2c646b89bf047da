// Tests the forms of answers: CSV and JSON wherever a table is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"
#include "tools/text/json_csv.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;
using testing::StartsWith;

TEST(Csv, MembersAreColumnsAndIntervalsTwoOfThem) {
  const Json rows = Json::parse(R"([
    {"name": "a, b", "result": null, "list": [1, 2, 3]},
    {"name": "c", "result": {"mfu": 0.5, "memory": {"fits": true}}, "interval": [1.5, 2]}])");
  EXPECT_EQ(csv_of(rows),
            "name,result.mfu,result.memory.fits,interval.low,interval.high\n"
            "\"a, b\",,,,\n"
            "c,0.5,true,1.5,2\n");
}

// The rows of an answer in both forms: as many lines as objects, and the same words.
void expect_both_forms(std::vector<std::string> arguments, const char* list, const std::string& columns) {
  SCOPED_TRACE(arguments[0]);
  std::vector<std::string> csv_words = arguments, json_words = arguments, both = arguments;
  csv_words.emplace_back("--csv");
  json_words.emplace_back("--json");
  both.insert(both.end(), {"--csv", "--json"});
  const Ran csv = run_foretoken(csv_words), as_json = run_foretoken(json_words);
  EXPECT_LE(csv.status, 1) << csv.err;
  const Json answer = Json::parse(as_json.out);
  EXPECT_EQ(lines_of(csv.out).size(), (*list == '\0' ? answer : answer.at(list)).size() + 1) << csv.out;
  EXPECT_THAT(csv.out, StartsWith(columns));
  EXPECT_EQ(run_foretoken(both).status, 2);
}

TEST(Forms, TablesAreCsvAndJsonToo) {
  expect_both_forms({"models", "list"}, "", "name,parameters,");
  expect_both_forms({"clusters", "list"}, "", "name,GPU,");
  expect_both_forms({"profiles", "list"}, "", "name,");
  expect_both_forms({"runtimes", "list"}, "", "name,");
  expect_both_forms({"scenarios", "list"}, "", "name,model,GPUs,");
  expect_both_forms({"compare", "gpt3-175b-1024-a100"}, "schedules", "label,schedule,virtual_pipeline,is_own,");
  expect_both_forms({"whatif", "llama-2-7b-8-a100", "--tornado"}, "tornado", "property,belongs_to,part,");
  expect_both_forms({"search", "llama-2-7b-8-a100", "--free", "batch.micro"}, "ranked", "rank,gpus,tensor,");
  expect_both_forms({"plan", "llama-2-7b-8-a100", "--free", "parallelism.data", "--tokens", "1B", "--gpus", "8,16"},
                    "options", "cluster,gpus,impossible,");
}

TEST(Forms, ExplainHasBothTablesInOne) {
  const Ran csv = run_foretoken({"explain", "llama-2-7b-8-a100", "--csv"});
  const Json answer = Json::parse(run_foretoken({"explain", "llama-2-7b-8-a100", "--json"}).out);
  EXPECT_THAT(csv.out, StartsWith("step,time_s,property,"));
  EXPECT_EQ(lines_of(csv.out).size(), answer["waterfall"].size() + answer["hardware"].size() + 1);
}

TEST(Forms, SimulateHasALineForEachScenario) {
  const std::vector<std::string> asked = {"simulate", "llama-2-7b-8-a100", "gpt3-175b-1024-a100"};
  std::vector<std::string> csv_words = asked, json_words = asked;
  csv_words.emplace_back("--csv");
  json_words.emplace_back("--json");
  const std::vector<std::string> lines = lines_of(run_foretoken(csv_words).out);
  const std::vector<std::string> answers = lines_of(run_foretoken(json_words).out);
  ASSERT_EQ(lines.size(), 3U);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_THAT(lines[0],
              StartsWith("name,step_time_s,step_time_s_interval.low,step_time_s_interval.high,tokens_per_s,"));
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const Json answer = Json::parse(answers[at]);
    EXPECT_THAT(lines[at + 1],
                StartsWith(answer["name"].get<std::string>() + ',' + answer["step_time_s"].dump() + ','));
    EXPECT_EQ(std::ranges::count(lines[at + 1], ','), std::ranges::count(lines[0], ','));
  }
  json_words.emplace_back("--csv");
  EXPECT_EQ(run_foretoken(json_words).status, 2) << "one form at a time";
  csv_words.emplace_back("--share-cluster");
  EXPECT_EQ(run_foretoken(csv_words).status, 2);
}

}  // namespace
}  // namespace foretoken::tools

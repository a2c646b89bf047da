// Tests `foretoken serve --search` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json searched(const std::vector<std::string>& more) {
  std::vector<std::string> words{"serve", "gpt3-20b-a100", "--search", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run_foretoken(words);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return json::parse(ran.out);
}

/// Splits a printed command at spaces outside single quotes, and leaves out "foretoken".
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '\'')
      quoted = !quoted;
    else if (c == ' ' && !quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  words.erase(words.begin());
  return words;
}

TEST(ServeSearch, ThePrintedCommandGivesTheSameNumbers) {
  std::vector<std::string> searches[] = {
      {"serve", "gpt3-20b-a100", "--search", "--json", "--latency", "1s"},
      {"serve", "llama-3-70b-chat-8-h100", "--search", "--json", "--set", "requests.output_tokens=16", "--concurrency",
       "8,64", "--chunks", "512,4096", "--precisions", "bf16,fp8"}};
  for (const std::vector<std::string>& words : searches) {
    const Ran ran = run_foretoken(words);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json answer = json::parse(ran.out);
    for (const json& row : answer.at("pareto").at("points")) {
      std::vector<std::string> command = words_of(row.at("command"));
      command.emplace_back("--json");
      const Ran again = run_foretoken(command);
      ASSERT_EQ(again.status, 0) << again.err;
      const json one = json::parse(again.out);
      for (const char* const key : {"gpus", "tokens_per_s_per_gpu", "ttft_s", "tpot_s", "latency_s"})
        EXPECT_EQ(one.at(key), row.at(key)) << row.at("command");
    }
  }
}

TEST(ServeSearch, GivesTheIntervalsOfServe) {
  const json answer = searched({"--latency", "1s"});
  std::vector<std::string> command = words_of(answer.at("recommended").at("command"));
  command.emplace_back("--json");
  const json one = json::parse(run_foretoken(command).out);
  ASSERT_TRUE(answer.at("interval").contains("latency_s"));
  EXPECT_EQ(answer.at("interval"), one.at("interval"));
  EXPECT_EQ(answer.at("nearest"), one.at("nearest"));
  for (const json& row : answer.at("pareto").at("points"))
    EXPECT_LT(row.at("interval").at("latency_s").at("low"), row.at("latency_s").at("mean"));
  const std::string text = run_foretoken({"serve", "gpt3-20b-a100", "--search", "--latency", "1s"}).out;
  EXPECT_THAT(text, HasSubstr("\n  90 %: TTFT "));
  EXPECT_THAT(text, HasSubstr("predicted (FasterTransformer GPT on DGX A100)"));
}

TEST(ServeSearch, FilesOfAQuestionAreNotOverwritten) {
  const TemporaryFolder folder;
  const std::string trace = folder.put("trace.csv", "0,64,8\n0.1,64,8\n");
  const std::string question =
      folder.put("question.json", R"({"base": "llama-3-70b-8-h100", "requests": {"trace": "trace.csv",
    "input_tokens": null, "output_tokens": null, "rate_per_s": null, "count": null}})");
  for (const Wrong& wrong : std::vector<Wrong>{
           {"a chart over a trace", {"serve", question, "--search", "--chart", trace}, "--chart"},
           {"a trace of passes over a trace", {"serve", question, "--trace", trace}, "--trace"},
           {"a report over a trace", {"report", question, "-o", trace}, "-o"},
       })
    expect_refused(wrong);
  EXPECT_EQ(contents(trace), "0,64,8\n0.1,64,8\n");
}

TEST(ServeSearch, LimitsHoldAndNothingFoundIsStatusOne) {
  const json answer = searched({"--latency", "400ms", "--share", "100"});
  ASSERT_FALSE(answer.at("ranked").empty());
  for (const json& row : answer.at("ranked")) EXPECT_LE(row.at("latency_s").at("p99"), 0.4);
  EXPECT_EQ(answer.at("recommended").at("command"), answer.at("ranked")[0].at("command"));
  EXPECT_TRUE(answer.at("nearest_miss").is_null());

  const Ran none = run_foretoken({"serve", "gpt3-20b-a100", "--search", "--latency", "1ms"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.out, HasSubstr("No configuration is found for 90 % of requests within latency 1.000 ms."));
  const Ran large = run_foretoken({"serve", "gpt3-175b-a100", "--search", "--gpus", "1"});
  EXPECT_EQ(large.status, 1);
  EXPECT_THAT(large.out, HasSubstr("No configuration fits in memory."));
}

TEST(ServeSearch, HeldDegreesAndListsAreKept) {
  const json answer = searched({"--fix", "parallelism.tensor=2", "--gpus", "2,4", "--batch", "3,5"});
  EXPECT_EQ(answer.at("candidates").at("tried"), 4);  // pipeline 1 and 2, two batches
  for (const json& row : answer.at("pareto").at("points")) {
    EXPECT_EQ(row.at("parallelism").at("tensor"), 2);
    EXPECT_TRUE(row.at("batch") == 3 || row.at("batch") == 5);
  }
}

TEST(ServeSearch, ThreadsDoNotChangeTheAnswer) {
  EXPECT_EQ(searched({"--threads", "1"}), searched({"--threads", "3"}));
}

TEST(ServeSearch, DrawsItsFrontAndWritesCsv) {
  const TemporaryFolder folder;
  const std::string chart = folder.file("front.svg");
  const Ran ran = run_foretoken({"serve", "gpt3-20b-a100", "--search", "--csv", "--chart", chart});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(lines_of(ran.out).front(), HasSubstr("parallelism.tensor"));
  EXPECT_EQ(lines_of(ran.out).size(), 11U);
  EXPECT_THAT(contents(chart), HasSubstr("output tokens/s a GPU"));
}

TEST(ServeSearch, PrintsTheCommandsOfItsEngine) {
  const std::vector<std::string> words{"serve",
                                       "llama-3-70b-chat-8-h100",
                                       "--search",
                                       "--concurrency",
                                       "16",
                                       "--no-split",
                                       "--fix",
                                       "parallelism.tensor=4",
                                       "--json",
                                       "--set",
                                       "requests.output_tokens=16",
                                       "--set",
                                       "limits=null"};
  for (const auto& [engine, word] :
       {std::pair("vllm", "--tensor-parallel-size"), {"sglang", "--tp-size"}, {"trt-llm", "--tp_size"}}) {
    std::vector<std::string> asked = words;
    asked.emplace_back("--set");
    asked.push_back(std::string("engine=") + engine);
    const Ran ran = run_foretoken(asked);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json launch = json::parse(ran.out).at("recommended").at("launch");
    const std::vector<std::string> command = launch.at("commands")[0].at("words");
    const auto flag = std::find(command.begin(), command.end(), word);
    ASSERT_NE(flag, command.end()) << engine;
    EXPECT_EQ(*(flag + 1), "4");
  }
}

}  // namespace
}  // namespace foretoken::tools

// Tests `whatif`, `compare` and `report` of services from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(VariedServices, EveryRowIsWhatServeSays) {
  const Ran ran = run_foretoken(
      {"whatif", "gpt3-20b-a100", "--vary", "requests.batch=4,32", "--vary", "precision=fp16,fp7", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  ASSERT_EQ(answer.at("rows").size(), 4U);
  for (const json& row : answer.at("rows")) {
    const std::string batch = row.at("set").at("requests.batch"), precision = row.at("set").at("precision");
    const Ran one = run_foretoken(
        with_sets({"serve", "gpt3-20b-a100", "--json"}, {"requests.batch=" + batch, "precision=" + precision}));
    EXPECT_EQ(one.status, row.contains("result") ? 0 : 2);
    if (!row.contains("result")) {
      EXPECT_THAT(row.at("impossible").get<std::string>(), HasSubstr("fp7"));
      continue;
    }
    for (const char* const key : {"tokens_per_s_per_gpu", "ttft_s", "latency_s", "kwh_per_million_output_tokens"})
      EXPECT_EQ(json::parse(one.out).at(key), row.at("result").at(key));
  }
}

TEST(VariedServices, CompareShowsEngines) {
  const std::vector<std::string> words{"compare", "llama-3-70b-chat-8-h100", "--set", "requests.output_tokens=8"};
  const Ran all = run_foretoken(words);
  ASSERT_EQ(all.status, 0) << all.err;
  for (const char* const engine : {"vllm", "sglang", "trt-llm"}) EXPECT_THAT(all.out, HasSubstr(engine));
  EXPECT_THAT(all.out, testing::Not(HasSubstr("megatron")));  // batches statically
}

TEST(VariedServices, SayWhatTheirRowsAssume) {
  EXPECT_THAT(run_foretoken({"compare", "gpt3-20b-a100"}).out,
              HasSubstr("assumed: engine megatron has the numbers of fastertransformer"));
  const json answer = json::parse(run_foretoken({"compare", "gpt3-20b-a100", "--json"}).out);
  EXPECT_THAT(answer.at("assumptions").dump(), testing::Not(HasSubstr("megatron")));
  for (const json& row : answer.at("rows"))
    EXPECT_EQ(row.at("assumptions").dump().find("engine megatron") != std::string::npos,
              row.at("set").at("engine") == "megatron");
}

TEST(VariedServices, WrongQuestionsAreOneLine) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"no value is possible",
            {"whatif", "gpt3-20b-a100", "--vary", "precision=fp7"},
            "precision = fp7: precision: expected"},
           {"a tornado", {"whatif", "gpt3-20b-a100", "--tornado"}, "expects a scenario of training"},
           {"schedules", {"compare", "gpt3-20b-a100", "--schedules", "1f1b"}, "expect a scenario of training"},
           {"strictness", {"compare", "gpt3-20b-a100", "--strict"}, "expect a scenario of training"},
           {"engines of training", {"compare", "gpt3-175b-1024-a100", "--engines", "vllm"}, "a question about serving"},
       })
    expect_refused(wrong);
}

TEST(ServiceReport, ShowsBatchQueueAndCache) {
  const TemporaryFolder folder;
  const std::string split =
      R"(disaggregated={"prefill": {"gpus": 4, "parallelism": {"tensor": 4}}, "decode": {"gpus": 4, "parallelism": {"tensor": 4}}})";
  for (const std::vector<std::string>& sets :
       {std::vector<std::string>{"requests.count=50"}, {"requests.count=50", "parallelism=null", split}}) {
    const std::string page = folder.file("serve.html");
    const Ran ran =
        run_foretoken(with_sets({"report", "llama-3-70b-chat-8-h100", "--date", "2026-01-01", "-o", page}, sets));
    ASSERT_EQ(ran.status, 0) << ran.err;
    const std::string html = contents(page);
    for (const char* const part :
         {"Batch, queue and cache over time", "time to first token", "pages in use", "pass_us = 600",
          "foretoken report llama-3-70b-chat-8-h100", "90 % interval of the mean", "Nearest published service: T",
          "predicted (vLLM", "<th scope=\"row\">cluster</th>", "8 GPUs of dgx-h100-ndr",
          "<th scope=\"row\">limits</th>", "tensor "})
      EXPECT_THAT(html, HasSubstr(part));
  }
  const Ran none = run_foretoken({"report", "gpt3-175b-a100", "--set", R"(parallelism={"tensor": 1})", "-o",
                                  folder.file("none.html"), "--require-fit"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(contents(folder.file("none.html")), HasSubstr("does not fit into the memory"));
}

TEST(ServiceReport, AnEncoderHasNoCache) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "bert-base-a100", "-o", folder.file("bert.html")}).status, 0);
  EXPECT_THAT(contents(folder.file("bert.html")), Not(HasSubstr("cache bf16")));
}

}  // namespace
}  // namespace foretoken::tools

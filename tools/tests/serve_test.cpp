// Tests `foretoken serve` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/report/text/layout.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::vector<std::string> with_sets(std::vector<std::string> words, const std::vector<std::string>& sets) {
  for (const std::string& assignment : sets) {
    words.emplace_back("--set");
    words.push_back(assignment);
  }
  return words;
}

/// Overrides that make a good question wrong, and a part of the only line about it.
struct WrongService {
  const char* what;
  std::vector<std::string> sets;
  const char* complaint;
};

const std::vector<WrongService> kWrongServices{
    {"an unknown key", {"tensor=8"}, "unknown key"},
    {"an unknown engine", {"engine=vlm"}, "did you mean \"vllm\"?"},
    {"an unknown model", {"model=llama-3-71b"}, "did you mean"},
    {"an unknown cluster", {"cluster=dgx-h101"}, "unknown cluster"},
    {"a model that is a number", {"model=70"}, "expected"},
    {"an encoder", {"model=bert-large"}, "generates no tokens"},
    {"an encoder-decoder", {"model=t5-3b"}, "whose generation is not modelled"},
    {"a server without a network", {"cluster=rtx4090-24gb", "parallelism.tensor=16", "gpus=16"}, "have no NICs"},
    {"a degree of zero", {"parallelism.tensor=0"}, "expected a whole number from 1"},
    {"a degree that is text", {"parallelism.tensor=eight"}, "expected a whole number from 1"},
    {"an unknown degree", {"parallelism.data=2"}, "unknown key"},
    {"heads that do not divide", {"parallelism.tensor=3", "gpus=3"}, "expected a divisor of the 64 heads"},
    {"more stages than layers",
     {R"(parallelism={"pipeline": 88})", "gpus=88"},
     "expected at most 80 (the layers), found 88"},
    {"experts of a dense model", {"parallelism.expert=2"}, "has no experts"},
    {"experts that do not divide",
     {"model=mixtral-8x7b", R"(parallelism={"tensor": 4, "expert": 8})"},
     "expected a divisor of tensor x attention_data = 4"},
    {"GPUs of no whole instance", {"gpus=12"}, "expected a multiple of 8"},
    {"half a node more", {R"(parallelism={"tensor": 4, "pipeline": 3})", "gpus=12"}, "whole nodes of 8 GPUs"},
    {"no GPUs", {"gpus=0"}, "expected a whole number from 1"},
    {"an unknown precision", {"precision=fp7"}, "did you mean \"fp8\"?"},
    {"a precision without products", {"cluster=dgx-a100-80gb-hdr", "precision=nvfp4"}, "has no products in"},
    {"an unknown precision of the cache", {"kv_precision=int4"}, "expected"},
    {"no arrivals", {"requests.rate_per_s=null"}, "missing arrivals"},
    {"two kinds of arrivals", {"requests.concurrency=8"}, "is stated, too"},
    {"a negative rate", {"requests.rate_per_s=-1"}, "expected"},
    {"requests that take years", {"requests.rate_per_s=0.0001"}, "2000 requests at this rate take 231"},
    {"no lengths", {"requests.input_tokens=null"}, "found null"},
    {"a prompt of no token", {"requests.input_tokens=0"}, "expected a whole number from 1"},
    {"an answer of half a token", {"requests.output_tokens=0.5"}, "expected a whole number from 1"},
    {"too many requests", {"requests.count=1e12"}, "expected"},
    {"a spread of lengths above 1", {"requests.length_spread=2"}, "expected"},
    {"a prefix share above 1", {"requests.prefix_share=1.5"}, "expected"},
    {"a negative seed", {"requests.seed=-3"}, "expected"},
    {"a count of a batch",
     {"requests.rate_per_s=null", "requests.batch=4", "batching=static"},
     "a batch has as many requests as it says"},
    {"a static batch of Poisson arrivals", {"batching=static"}, "a static batch starts all requests together"},
    {"continuous batches of a static engine",
     {"engine=fastertransformer", "batching=continuous"},
     "batches statically"},
    {"a limit of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static", "max_sequences=8"},
     "a static batch starts all its requests"},
    {"a watermark of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static", "memory.watermark=0.1"},
     "keeps no pages free"},
    {"pages of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static",
      "memory.block_tokens=16"},
     "a static batch has its cache in one piece"},
    {"an unknown way of batching", {"batching=dynamic"}, "expected"},
    {"a pass of no token", {"chunked_prefill=0"}, "expected a whole number from 1"},
    {"no request at once", {"max_sequences=0"}, "expected a whole number from 1"},
    {"no memory", {"memory.fraction=0"}, "expected"},
    {"more memory than there is", {"memory.fraction=1.2"}, "expected"},
    {"a page of no token", {"memory.block_tokens=0"}, "expected"},
    {"pools and degrees",
     {R"(disaggregated={"prefill": {"gpus": 4}, "decode": {"gpus": 4}})"},
     "each pool of a disaggregated service states its own"},
    {"one pool only",
     {"parallelism=null", "gpus=null", R"(disaggregated={"prefill": {"gpus": 4}})"},
     "missing; expected an object"},
    {"pools that do not make up the GPUs",
     {"parallelism=null", R"(disaggregated={"prefill": {"gpus": 4}, "decode": {"gpus": 8}})"},
     "expected 12 (both pools)"},
    {"an acceptance above 1", {R"(speculative={"tokens": 3, "acceptance": 1.5})"}, "expected"},
    {"no acceptance", {R"(speculative={"tokens": 3})"}, "missing"},
    {"more drafted tokens than a pass",
     {"chunked_prefill=2", R"(speculative={"tokens": 3, "acceptance": 0.5})"},
     "expected fewer tokens than a pass may have"},
    {"a limit of zero", {"limits.ttft_s=0"}, "expected a positive number"},
    {"an unknown limit", {"limits.ttft=0.5"}, "unknown key"},
    {"a load below the mean", {"moe.imbalance=0.5"}, "expected"},
    {"a load of experts that are not there", {"moe.imbalance=3"}, "llama-3-70b has no experts"},
    {"a negative price", {"price_per_gpu_hour=-2"}, "expected"},
    {"a trace that is not there", {R"(requests={"trace": "/nowhere.csv"})"}, "/nowhere.csv"},
};

TEST(ServeCommand, EveryWrongQuestionIsOneLine) {
  ASSERT_GE(kWrongServices.size(), 40U);
  for (const WrongService& wrong : kWrongServices)
    expect_refused(Wrong{wrong.what, with_sets({"serve", "llama-3-70b-8-h100"}, wrong.sets), wrong.complaint});
}

TEST(ServeCommand, WrongOptionsAreOneLine) {
  const auto search = [](std::vector<std::string> more) {
    std::vector<std::string> words{"serve", "llama-3-70b-chat-8-h100", "--search"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"no question", {"serve"}, "QUESTION"},
           {"a question that is not there", {"serve", "nowhere"}, "nowhere"},
           {"a time without its unit", {"serve", "llama-3-70b-8-h100", "--ttft", "500"}, "a time with its unit"},
           {"an option of a search alone", {"serve", "llama-3-70b-8-h100", "--chunks", "512"}, "--search"},
           {"sizes without a search", {"serve", "llama-3-70b-8-h100", "--gpus", "8,16"}, "--gpus 8,16"},
           {"two questions", search({"llama-3-70b-8-h100"}), "--search takes one question"},
           {"a list that ends early", search({"--gpus", "8:4:x2"}), "upwards"},
           {"no users", search({"--concurrency", "0"}), "expected users from 1"},
           {"batches of users", search({"--batch", "4"}), "requests.batch"},
           {"an unknown precision", search({"--precisions", "bf16,fp9"}), "did you mean \"fp8\"?"},
           {"a precision without products", search({"--precisions", "nvfp4"}), "has no products in"},
           {"a key that is no degree", search({"--fix", "tensor=4"}), "parallelism.tensor=8"},
           {"experts of a dense model", search({"--fix", "parallelism.expert=4"}), "has no experts"},
           {"fewer tokens than speculation checks",
            search({"--set", R"(speculative={"tokens": 4, "acceptance": 0.5})", "--chunks", "3"}),
            "expected at least 5 tokens"},
           {"more users than requests", search({"--set", "requests.count=32", "--concurrency", "64"}),
            "expected at most 32 users"},
           {"a degree that divides no heads", search({"--fix", "parallelism.tensor=5"}), "no layout is valid"},
           {"an unknown objective", search({"--objective", "cost"}), "throughput or latency"},
           {"a share above 100 %", search({"--share", "120"}), "120"},
           {"a chart over the question", search({"--chart", "scenarios/serve/llama-3-70b-chat-8-h100.json"}),
            "--chart"},
       })
    expect_refused(wrong);
}

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
  EXPECT_THAT(text, HasSubstr("\n  Nearest: FasterTransformer GPT on DGX A100"));
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
         {"Batch, queue and cache over time", "time to first token", "pages in use", "pass_us = 900",
          "foretoken report llama-3-70b-chat-8-h100", "90 % interval of the mean", "Nearest published service: vLLM",
          "<th scope=\"row\">cluster</th>", "8 GPUs of dgx-h100-ndr", "<th scope=\"row\">limits</th>", "tensor "})
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

TEST(ServeCommand, PoolsNeedANetworkBetweenNodes) {
  const Ran ran =
      run_foretoken(with_sets({"serve", "llama-3-70b-8-h100"}, {"cluster=rtx4090-24gb", "parallelism=null", "gpus=null",
                                                                "disaggregated.prefill.parallelism.tensor=8",
                                                                "disaggregated.decode.parallelism.tensor=8"}));
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("the nodes of \"rtx4090-24gb\" have no NICs, found 16"));
}

TEST(ServeCommand, SaysHowFarItMayBeTrusted) {
  const json answer = json::parse(run_foretoken({"serve", "llama-3-70b-8-h100", "--json"}).out);
  const json& tpot = answer["interval"]["tpot_s"];
  EXPECT_LT(tpot["low"], answer["tpot_s"]["mean"]);
  EXPECT_GT(tpot["high"], answer["tpot_s"]["mean"]);
  EXPECT_TRUE(tpot["outside"]);
  EXPECT_EQ(answer["nearest"]["place"]["engine"], "vllm");
  EXPECT_THAT(run_foretoken({"serve", "llama-3-70b-8-h100"}).out, HasSubstr("90 % of the mean"));
  const std::string text = run_foretoken({"serve", "llama-3-70b-8-h100", "--details"}).out;
  EXPECT_THAT(text, HasSubstr("  90 %        TTFT "));
  EXPECT_THAT(text, HasSubstr("  Untried     model llama-3-70b (nearest: qwen3-32b), parameters 70.6B"));
  EXPECT_THAT(text, HasSubstr("  Nearest     vLLM 0.12.0, Qwen3-32B on H100"));
}

// Sets that take the most lines: pools, speculation, a spread, a prefix, a narrow cache, and two limits.
const std::vector<std::string> kMuchStated{"parallelism=null",
                                           "gpus=null",
                                           "cluster=gb200-nvl72",
                                           "disaggregated.prefill.parallelism.tensor=4",
                                           "disaggregated.decode.parallelism.tensor=4",
                                           "disaggregated.decode.gpus=8",
                                           "requests.length_spread=0.3",
                                           "requests.prefix_share=0.25",
                                           "requests.count=100",
                                           "kv_precision=fp8",
                                           R"(speculative={"tokens":3,"acceptance":0.7})"};

TEST(ServeCommand, SaysWhereAnotherTimeOrEngineStandsIn) {
  const auto assumes = [](const std::vector<std::string>& words) {
    std::vector<std::string> asked = words;
    asked.emplace_back("--json");
    return json::parse(run_foretoken(asked).out).at("assumptions").dump();
  };
  const std::vector<std::string> gb200{"serve", "--model", "llama-3-70b", "--cluster", "gb200-nvl72", "--tp"};
  std::vector<std::string> four = gb200, eight = gb200;
  four.emplace_back("4");
  eight.emplace_back("8");
  EXPECT_THAT(assumes(eight), HasSubstr("small sums over 8 GPUs take NCCL's time: no table of gb200-186gb"));
  EXPECT_THAT(assumes(four), Not(HasSubstr("small sums")));
  EXPECT_THAT(assumes({"serve", "gpt3-175b-8-a100", "--set", "engine=megatron"}),
              HasSubstr("engine megatron has the numbers of fastertransformer"));
  EXPECT_THAT(assumes({"serve", "gpt3-175b-8-a100"}), Not(HasSubstr("Megatron-LM slower")));
}

TEST(ServeCommand, FitsOneScreenAndEndsWithCommandsToRun) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"serve", "llama-3-70b-8-h100"},
           {"serve", "gpt3-175b-a100", "--set", "parallelism=null", "--set", "gpus=1"},
           {"serve", "bert-base-a100"},
           {"serve", "--model", "llama-3-8b", "--cluster", "t4-16gb", "--rate", "40"},
           with_sets({"serve", "llama-3-70b-8-h100", "--latency", "5s"}, kMuchStated)}) {
    const std::vector<std::string> lines = lines_of(run_foretoken(words).out);
    ASSERT_LE(lines.size(), 25U) << testing::PrintToString(lines);
    for (const std::string& line : lines)
      if (!line.starts_with("  foretoken")) {
        EXPECT_LE(report::columns_of(line), 80U) << line;
      }
    EXPECT_THAT(lines.back(), testing::StartsWith("  foretoken serve "));
    EXPECT_THAT(lines.back(), HasSubstr(" --details"));
  }
}

TEST(ServeCommand, ShowsWhatIsStatedAndAssumed) {
  const std::vector<std::string> words = with_sets({"serve", "llama-3-70b-8-h100"}, kMuchStated);
  std::string text;  // lines joined
  for (const std::string& line : lines_of(run_foretoken(words).out)) text += line.substr(line.empty() ? 0 : 1);
  for (const char* const part :
       {"3 drafted tokens a pass, 70 % accepted", "from 70 % of that up", "25 % of each", "cache in fp8"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(run_foretoken({"serve", "llama-3-70b-8-h100"}).out, HasSubstr("assumed: all-to-all"));
  std::vector<std::string> detailed = words;
  detailed.emplace_back("--details");
  const std::string all = run_foretoken(detailed).out;
  std::vector<std::string> asked = words;
  asked.emplace_back("--json");
  const json answer = json::parse(run_foretoken(asked).out);
  ASSERT_FALSE(answer["assumptions"].empty());
  for (const std::string line : answer["assumptions"])
    EXPECT_THAT(all, HasSubstr("  - " + line.substr(0, 40))) << "every assumption";
  EXPECT_THAT(all, HasSubstr("an instance"));
}

TEST(ServeOptions, AFirstAnswerNeedsNoFile) {
  const std::vector<std::string> words{"serve", "--model", "llama-3-70b", "--cluster", "dgx-h100-ndr"};
  const Ran ran = run_foretoken(words);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("llama-3-70b on 4 GPUs of dgx-h100-ndr, vllm in bf16"));
  EXPECT_THAT(ran.out, HasSubstr("160 requests by 16 users at once: 1024 tokens in, 256 out"));
  EXPECT_THAT(ran.out, HasSubstr("assumed: Engine vllm (state it with --engine)."));
  EXPECT_THAT(ran.out, HasSubstr("Tensor-parallel degree 4: the smallest with room for 16 requests"));
}

TEST(ServeOptions, TheDegreeFollowsFromTheStatedLoad) {
  const auto assumed = [](std::vector<std::string> more) {
    std::vector<std::string> words{"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return json::parse(run_foretoken(words).out).at("assumptions").dump();
  };
  const auto degree = [](int tensor, const std::string& why) {
    return HasSubstr("Tensor-parallel degree " + std::to_string(tensor) + ": the " + why);
  };
  EXPECT_THAT(assumed({}), degree(1, "smallest with room for 16 requests"));
  EXPECT_THAT(assumed({"--concurrency", "200"}), degree(1, "smallest with room for 200 requests"));
  EXPECT_THAT(assumed({"--concurrency", "400"}), degree(2, "smallest with room for 400 requests"));
  EXPECT_THAT(assumed({"--concurrency", "4", "--input", "100k", "--output", "1k"}),
              degree(1, "smallest with room for 4 requests"));
  EXPECT_THAT(assumed({"--batch", "4", "--engine", "fastertransformer", "--gpus", "4"}),
              degree(4, "smallest with room for 4 requests"));
  EXPECT_THAT(assumed({"--rate", "4"}), degree(1, "smallest that keeps up with 4 requests/s"));
  EXPECT_THAT(assumed({"--rate", "40"}), degree(4, "smallest that keeps up with 40 requests/s"));
  EXPECT_THAT(assumed({"--rate", "4000"}), degree(8, "widest tried: there is none that keeps up with 4000 requests/s"));
}

TEST(ServeCommand, AnEncoderTakesABatchInOnePass) {
  const Ran ran = run_foretoken({"serve", "bert-base-a100", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["run"]["passes"], 1);
  EXPECT_TRUE(answer["tpot_s"].is_null());
  EXPECT_EQ(answer["memory"]["cache_bytes"], 0);
  const double latency = answer["latency_s"]["mean"], rate = 8 * 384 / latency;
  EXPECT_NEAR(answer["tokens_per_s_per_gpu"], rate, 1e-6 * rate);
  const Ran twice = run_foretoken({"serve", "bert-base-a100", "--json", "--batch", "16"});
  EXPECT_GT(json::parse(twice.out)["latency_s"]["mean"], latency);
  EXPECT_LT(json::parse(twice.out)["latency_s"]["mean"], 2 * latency);
}

TEST(ServeCommand, AnEncoderIsAskedAsOne) {
  const auto complaint = [](const char* question, const char* set) {
    return run_foretoken(with_sets({"serve", question}, {set})).err;
  };
  EXPECT_THAT(complaint("bert-base-a100", "requests.output_tokens=4"), HasSubstr("output_tokens=4: expected none"));
  EXPECT_THAT(complaint("bert-base-a100", "engine=vllm"), HasSubstr("no tokens; try fastertransformer-bert"));
  EXPECT_THAT(complaint("bert-base-a100", "requests.input_tokens=1024"),
              HasSubstr("expected at most 512 tokens, the positions of bert-base, found 1024"));
  EXPECT_THAT(complaint("gpt3-175b-8-a100", "engine=fastertransformer-bert"),
              HasSubstr("serves encoders, and gpt3-175b generates tokens"));
}

TEST(ServeOptions, TheCommandOfASearchRunsAndSetsStateArrivals) {
  const std::vector<std::string> words{"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr"};
  const Ran by_set =
      run_foretoken(with_sets(words, {"gpus=1", "parallelism={\"tensor\":1}", "requests.concurrency=8"}));
  ASSERT_EQ(by_set.status, 0) << by_set.err;
  EXPECT_THAT(by_set.out, HasSubstr("by 8 users at once"));
  EXPECT_THAT(run_foretoken(with_sets(words, {"requests.rate_per_s=2"})).out, HasSubstr("at 2 a second (Poisson)"));
}

TEST(ServeOptions, ABatchReplacesACount) {
  EXPECT_THAT(run_foretoken({"serve", "llama-3-70b-8-h100", "--batch", "4"}).out, HasSubstr("one batch of 4"));
}

TEST(ServeOptions, OldCardsAnswerInFp16AndExpertsAskForTheirRanks) {
  const Ran old = run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "t4-16gb", "--tp", "2"});
  ASSERT_EQ(old.status, 0) << old.err;
  EXPECT_THAT(old.out, HasSubstr("assumed: Precision fp16: t4-16gb has no bf16"));
  const Ran narrow =
      run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "t4-16gb", "--tp", "2", "--precision", "int4"});
  EXPECT_EQ(narrow.status, 0) << narrow.err;
  const Ran experts = run_foretoken({"serve", "--model", "mixtral-8x7b", "--cluster", "dgx-h100-ndr", "--ep", "4"});
  ASSERT_EQ(experts.status, 0) << experts.err;
  EXPECT_THAT(experts.out, HasSubstr("tensor 4, expert 4"));
  EXPECT_THAT(run_foretoken({"serve", "--model", "llama-3-9b", "--cluster", "t4-16gb"}).err,
              testing::StartsWith("--model llama-3-9b: unknown model"));
}

TEST(ServeCommand, SaysWhatItLeavesOutOfATraceAndAProfile) {
  const TemporaryFolder folder;
  const std::string passes = folder.file("passes.json");
  const std::string trace =
      folder.put("mooncake.jsonl", R"({"timestamp": 0, "input_length": 512, "output_length": 8, "hash_ids": [1, 2]})");
  const std::vector<std::string> words{"serve", "llama-3-70b-8-h100"};
  const Ran traced = run_foretoken(with_sets(words, {R"(requests={"trace": ")" + trace + R"("})"}));
  EXPECT_EQ(traced.status, 0) << traced.err;
  EXPECT_THAT(traced.out, HasSubstr("hash_ids of the trace are not read"));
  EXPECT_THAT(run_foretoken(with_sets(words, {"profile=a100-sxm4-80gb"})).out,
              HasSubstr("warning: profile \"a100-sxm4-80gb\" describes GPU \"a100-sxm4-80gb\", but the"));
  std::vector<std::string> large = with_sets(words, {"parallelism.tensor=1", "gpus=1"});
  large.insert(large.end(), {"--trace", passes});
  EXPECT_THAT(run_foretoken(large).err, HasSubstr("is not written: the service does not fit"));
  EXPECT_FALSE(std::filesystem::exists(passes));
}

// The service answers 28 requests a second at most. Answers of 15 s behind the last arrival hide that.
TEST(ServeCommand, AQueueBehindSlowAnswersGrows) {
  const auto warnings = [](const char* rate) {
    const Ran ran = run_foretoken(
        {"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--tp", "2", "--rate", rate, "--json"});
    return json::parse(ran.out).at("warnings").dump();
  };
  EXPECT_THAT(warnings("40"), HasSubstr("its queue grows"));
  EXPECT_THAT(warnings("20"), Not(HasSubstr("its queue grows")));
}

TEST(ServeOptions, NothingIsPredictedBeyondTheOfferedLoad) {
  const Ran ran =
      run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--rate", "4", "--json"});
  const json answer = json::parse(ran.out);
  EXPECT_LE(answer["interval"]["throughput_per_s"]["high"],
            std::max(4 * 256.0, answer["output_tokens_per_s"].get<double>()));
}

TEST(ServeOptions, AnEncoderNeedsNoFile) {
  const Ran ran =
      run_foretoken({"serve", "--model", "bert-large", "--cluster", "t4-16gb", "--precision", "fp16", "--batch", "2"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("one batch of 2: 512 tokens each"));
  EXPECT_THAT(ran.out, HasSubstr("assumed: Engine fastertransformer-bert (state it with --engine)."));
  EXPECT_THAT(ran.out, Not(HasSubstr("time to first token")));
}

TEST(ServeOptions, StatedKeysHoldAndNothingIsAssumedOfThem) {
  const Ran ran = run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "dgx-a100-80gb-hdr", "--engine",
                                 "fastertransformer", "--precision", "fp16", "--tp", "2", "--input", "2k", "--output",
                                 "64", "--batch", "4"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("2 GPUs of dgx-a100-80gb-hdr, fastertransformer in fp16"));
  EXPECT_THAT(ran.out, HasSubstr("one batch of 4: 2048 tokens in, 64 out"));
  for (const char* const word : {"assumed: Engine", "assumed: Prompts", "assumed: Tensor", "requests at once (state"})
    EXPECT_THAT(ran.out, Not(HasSubstr(word)));
}

TEST(ServeOptions, TheyChangeAQuestion) {
  const Ran by_set = run_foretoken({"serve", "llama-3-70b-8-h100", "--json", "--set", "requests.rate_per_s=null",
                                    "--set", "requests.concurrency=4", "--set", "requests.count=null"});
  const Ran by_option =
      run_foretoken({"serve", "llama-3-70b-8-h100", "--json", "--concurrency", "4", "--set", "requests.count=null"});
  ASSERT_EQ(by_option.status, 0) << by_option.err;
  EXPECT_EQ(by_option.out, by_set.out);
}

TEST(ServeOptions, ComplaintsNameTheOption) {
  EXPECT_THAT(run_foretoken({"serve"}).err, HasSubstr("QUESTION is required, or --model and --cluster"));
  EXPECT_THAT(run_foretoken({"serve", "--model", "llama-3-8b"}).err, HasSubstr("--cluster is required"));
  const Ran ran = run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--tp", "many"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, testing::StartsWith("--tp many: expected a whole number"));
}

TEST(ServeOptions, ASearchHoldsStatedDegreesAndItsCommandNeedsNoFile) {
  const Ran ran = run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", "dgx-h100-ndr", "--search", "--tp", "2",
                                 "--gpus", "4", "--concurrency", "4,8", "--no-split", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_FALSE(answer["ranked"].empty());
  for (const json& found : answer["ranked"]) EXPECT_EQ(found["parallelism"]["tensor"], 2);
  EXPECT_THAT(ran.out, HasSubstr("foretoken serve --model llama-3-8b --cluster dgx-h100-ndr"));
}

}  // namespace
}  // namespace foretoken::tools

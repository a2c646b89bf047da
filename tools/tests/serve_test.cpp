// Tests `foretoken serve` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "sim/report/text/layout.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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
    {"an encoder-decoder", {"model=t5-3b"}, "which engine vllm does not serve; try fastertransformer-t5"},
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
    {"experts in 4 bits of a dense model", {"precision=mxfp4"}, "llama-3-70b has no experts; try nvfp4 or int4"},
    {"a decoder in 32 bits", {"precision=fp32"}, "found fp32: decoders are not served in 32 bits"},
    {"padding of a decoder", {"requests.padded_tokens=4k"}, "expected none: llama-3-70b is no encoder"},
    {"beams of a decoder",
     {"requests.beam_width=4"},
     "beam_width=4: expected 1: llama-3-70b is no encoder-decoder, and only these are served with beam search, found "
     "4; "
     "try t5-base on fastertransformer-t5"},
    {"no beam", {"requests.beam_width=0"}, "beam_width=0: expected a whole number from 1 to 64"},
    {"too many beams", {"requests.beam_width=65"}, "beam_width=65: expected a whole number from 1 to 64"},
    {"beams without kernels", {"requests.beam_width=5"}, "beam_width=5: expected 1, 2, 3, 4, 8, 16, 32 or 64"},
    {"decode kernels of nobody",
     {R"(engine={"base": "vllm", "decode_attention": "mine"})"},
     "decode_attention: expected"},
    {"a decoder on an engine of encoder-decoders",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "engine=fastertransformer-t5"},
     "serves encoder-decoders, and llama-3-70b is a decoder; try fastertransformer"},
    {"half a beam", {"requests.beam_width=1.5"}, "expected a whole number from 1 to 64"},
    {"a time of beams of an engine without",
     {R"(engine={"base": "vllm", "numbers": {"beam_us": {"value": 1, "note": "x"}}})"},
     "beam_us: expected none: it is of engines that serve encoder-decoders"},
    {"unequal answers of a continuous batch",
     {"requests.mean_output_tokens=8"},
     "batching, whose answers end one by one"},
    {"an unknown precision of the cache", {"kv_precision=int4"}, "expected"},
    {"no arrivals", {"requests.rate_per_s=null"}, "missing arrivals"},
    {"two kinds of arrivals", {"requests.concurrency=8"}, "is stated, too"},
    {"a negative rate", {"requests.rate_per_s=-1"}, "expected"},
    {"requests that take years", {"requests.rate_per_s=0.0001"}, "2000 requests at this rate take 231"},
    {"more requests than a run takes",
     {"requests.count=10M"},
     "--set requests.count=10M: expected a whole number from 1 to 5000000"},
    {"more passes than a run takes",
     {"requests.count=3M", "requests.rate_per_s=1"},
     "--set requests.count=3M: expected at most 50 million passes, found"},
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
     "expected none for static batching"},
    {"a watermark of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static", "memory.watermark=0.1"},
     "keeps no pages free"},
    {"pages of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static",
      "memory.block_tokens=16"},
     "a static batch has its cache in one piece"},
    {"an unknown way of batching", {"batching=dynamic"}, "expected"},
    {"an unknown capacity policy",
     {"capacity_scheduler_policy=static_batch"},
     R"(expected "guaranteed_no_evict" or "max_utilization", found "static_batch")"},
    {"an engine with no group of an XQA kernel",
     {R"(engine={"base": "vllm", "xqa_group_sizes": []})"},
     "xqa_group_sizes: expected at least one number"},
    {"an engine without a reason for no interval",
     {R"(engine={"base": "vllm", "no_interval": ""})"},
     "no_interval: expected why intervals do not hold"},
    {"a time of static batches of an engine that has none",
     {R"(engine={"base": "vllm", "numbers": {"request_layer_us": {"value": 1, "note": "x"}}})"},
     "request_layer_us: expected none with continuous batching"},
    {"a time of passes of an engine that answers at the end",
     {R"(engine={"base": "fastertransformer", "numbers": {"answer_us": {"value": 1, "note": "x"}}})"},
     "answer_us: expected none with static batching"},
    {"the key before the capacity policy",
     {R"(engine={"base": "vllm", "batching": {"reserves_output": true}})"},
     R"(reserves_output: expected none; try "capacity_scheduler_policy": "guaranteed_no_evict")"},
    {"the key before the capacity policy, as it was by default",
     {R"(engine={"base": "vllm", "batching": {"reserves_output": false}})"},
     R"(reserves_output: expected none; try "capacity_scheduler_policy": "max_utilization")"},
    {"a capacity policy of a static batch",
     {"requests.rate_per_s=null", "requests.count=null", "requests.batch=4", "batching=static",
      "capacity_scheduler_policy=max_utilization"},
     "--set capacity_scheduler_policy=max_utilization: expected none for static batching; try \"batching\": "
     "\"continuous\""},
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
    {"unknown kernels of experts", {"model=gpt-oss-120b", "precision=mxfp4", "moe.backend=cute"}, "found \"cute\""},
    {"Triton's kernels in an engine without them",
     {"model=gpt-oss-120b", "precision=mxfp4", "moe.backend=triton"},
     "has no triton_launch_us of Triton's kernels; trt-llm-2025 has it"},
    {"a time of Triton's kernels that sort, without the host's",
     {R"(engine={"base": "vllm", "numbers": {"triton_sort_us": {"value": 20, "note": "x"}}})"},
     "engine.numbers.triton_launch_us: missing; expected it beside triton_sort_us"},
    {"a time of a token of Triton's kernels, without the host's",
     {R"(engine={"base": "vllm", "numbers": {"triton_sort_token_us": {"value": 0.2, "note": "x"}}})"},
     "engine.numbers.triton_launch_us: missing; expected it beside triton_sort_us"},
    {"a time of Triton's kernels that is text",
     {R"(engine={"base": "trt-llm-2025", "numbers": {"triton_sort_us": {"value": "20", "note": "x"}}})"},
     "engine.numbers.triton_sort_us.value: expected a number"},
    {"fused attention of an engine of decoders",
     {R"(engine={"base": "vllm", "fused_head_dims": [64]})"},
     "fused_head_dims: expected none: it is of engines that serve encoders"},
    {"the key before all_reduce, with NCCL",
     {R"(engine={"base": "vllm", "custom_all_reduce": false})"},
     R"(custom_all_reduce: expected none; try "all_reduce": "nccl")"},
    {"the key before all_reduce, with the engine's own kernels",
     {R"(engine={"base": "sglang-mixed", "custom_all_reduce": true})"},
     R"(custom_all_reduce: expected none; try "all_reduce": "sglang")"},
    {"the key before all_reduce, of an engine without kernels of its own",
     {R"(engine={"base": "fastertransformer", "custom_all_reduce": true})"},
     R"(custom_all_reduce: expected none; try "all_reduce": "trt-llm")"},
    {"scales of fp8 inputs that training has",
     {R"(engine={"base": "vllm", "fp8_inputs": "delayed"})"},
     R"(fp8_inputs: expected "fused" or "dynamic", found "delayed")"},
    {"fused attention for no head dimension",
     {R"(engine={"base": "fastertransformer-bert", "fused_head_dims": []})"},
     "fused_head_dims: expected at least one number"},
    {"Triton's kernels on another GPU than Hopper",
     {"model=gpt-oss-120b", "precision=mxfp4", "engine=trt-llm-2025", "moe.backend=triton", "cluster=dgx-b200-ndr"},
     "TensorRT-LLM has Triton's experts on Hopper alone, found b200-sxm-180gb"},
    {"products in 32 bits of an engine of decoders",
     {R"(engine={"base": "vllm", "int8_mode": 1})"},
     "int8_mode: expected none: it is of engines that serve encoders"},
    {"kernels of sums that nobody has", {R"(engine={"base": "vllm", "all_reduce": "mscclpp"})"}, "found \"mscclpp\""},
    {"Marlin's kernels of wide experts",
     {"model=gpt-oss-120b", "moe.backend=marlin"},
     "expected auto: experts in bf16 have one kind of kernels; marlin is of mxfp4"},
    {"Marlin's kernels on a GPU without a table",
     {"model=gpt-oss-120b", "precision=mxfp4", "moe.backend=marlin", "cluster=dgx-b200-ndr"},
     "expected auto: no table of b200-sxm-180gb has Marlin's kernels"},
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
           {"details of a search", search({"--details"}),
            "--details: a search shows no details of one service; run the command that it prints with --details"},
           {"the trace of a search", search({"--trace", "x.json"}), "run the command that it prints with --trace"},
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
  EXPECT_THAT(text, testing::ContainsRegex("  Nearest     T.* measured, .* predicted \\(vLLM 0.12.0"));
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
  EXPECT_THAT(assumes(eight), HasSubstr("small all-reduces over 8 GPUs take NCCL's time: no table of gb200-186gb"));
  EXPECT_THAT(assumes(four), Not(HasSubstr("small all-reduces")));
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

TEST(ServeCommand, SaysItsCapacityPolicy) {
  const std::vector<std::string> words{"serve", "llama-3-70b-8-h100", "--set", "engine=trt-llm",
                                       "--set", "requests.count=100"};
  const auto policy_of = [&](const std::string& set) {
    const std::vector<std::string> sets = set.empty() ? std::vector<std::string>() : std::vector{set};
    std::vector<std::string> asked = with_sets(words, sets);
    asked.emplace_back("--json");
    return json::parse(run_foretoken(asked).out)["capacity_scheduler_policy"].get<std::string>();
  };
  EXPECT_EQ(policy_of(""), "guaranteed_no_evict");
  EXPECT_EQ(policy_of("capacity_scheduler_policy=max_utilization"), "max_utilization");
  EXPECT_EQ(policy_of("engine=vllm"), "max_utilization");
  std::vector<std::string> details = words;
  details.emplace_back("--details");
  EXPECT_THAT(run_foretoken(details).out, HasSubstr("guaranteed_no_evict"));
}

TEST(ServeCommand, AnEngineWithoutNumbersOfItsOwnHasNoInterval) {
  const std::vector<std::string> words{"serve", "gpt3-175b-8-a100", "--set", "engine=megatron"};
  const auto with = [&](const char* option) {
    std::vector<std::string> all = words;
    all.emplace_back(option);
    return run_foretoken(all).out;
  };
  const json answer = json::parse(with("--json"));
  EXPECT_TRUE(answer["interval"].is_null());
  EXPECT_THAT(answer["why_no_interval"], HasSubstr("1.2 to 3.9 times those of fastertransformer"));
  EXPECT_THAT(run_foretoken(words).out, HasSubstr("  90 %        unknown: published times of Megatron-LM"));
  EXPECT_THAT(with("--details"), HasSubstr("  90 %        unknown: published times of Megatron-LM"));
  EXPECT_THAT(with("--search"), HasSubstr("90 %: unknown: published times of Megatron-LM"));
  EXPECT_TRUE(json::parse(run_foretoken({"serve", "gpt3-175b-8-a100", "--json"}).out)["why_no_interval"].is_null());
}

TEST(ServeCommand, ShowsOneStyleOfNumbers) {
  const std::regex bare("[^0-9.,=][0-9]{4,}([^0-9.%]|$)");  // 1009 in the place of 1,009
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"serve", "llama-3-70b-8-h100"},
           {"serve", "llama-3-70b-8-h100", "--set", "requests.count=20000", "--set", "requests.rate_per_s=40"},
           {"serve", "bert-base-a100", "--batch", "2048"}}) {
    for (const std::string& line : lines_of(run_foretoken(words).out)) {
      if (line.starts_with("  foretoken") || line.find("assumed") != std::string::npos) continue;
      EXPECT_FALSE(std::regex_search(line, bare)) << line;
      EXPECT_THAT(line, Not(HasSubstr("e+")));
    }
  }
}

TEST(ServeCommand, DetailsBesideJsonAreNoMistake) {
  const Ran both = run_foretoken({"serve", "bert-base-a100", "--details", "--json"});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_EQ(both.out, run_foretoken({"serve", "bert-base-a100", "--json"}).out) << "JSON has every number already";
}

TEST(ServeCommand, CommandsAndComplaintsAreNarrow) {
  const std::vector<std::string> words{"serve", "--model",     "mixtral-8x7b", "--cluster", "dgx-h100-ndr", "--input",
                                       "2048",  "--output",    "512",          "--engine",  "trt-llm",      "--rate",
                                       "4",     "--precision", "fp8"};
  std::vector<std::string> search = words;
  search.emplace_back("--search");
  for (const std::vector<std::string>& asked : {words, search})
    for (const std::string& line : lines_of(run_foretoken(asked).out))
      EXPECT_LE(report::columns_of(line), 100U) << line;
  const std::string object = R"({"input_tokens": 1024, "output_tokens": 256, "rate_per_s": -8, "count": 2000})";
  const auto complaint = [](const std::string& assignment) {
    return run_foretoken({"serve", "llama-3-70b-8-h100", "--set", assignment}).err;
  };
  EXPECT_EQ(complaint("requests=" + object),
            "--set requests.rate_per_s: expected a number from 1e-06 to 1000000000, found -8\n");
  for (const char* const assignment :
       {R"(requests={"rate_per_s":8,"count":6000000,"input_tokens":1024,"output_tokens":256})",
        R"(requests={"rate_per_s":1,"count":3000000,"input_tokens":1024,"output_tokens":256})"})
    EXPECT_LE(report::columns_of(complaint(assignment)), 101U) << complaint(assignment);  // and the end of the line
  EXPECT_EQ(complaint(R"(engine={"base":"trt-llm","batching":{"capacity_scheduler_policy":"static"}})"),
            "--set engine.batching.capacity_scheduler_policy: expected \"guaranteed_no_evict\" or \"max_utilization\", "
            "found \"static\"\n");
}

TEST(ServeCommand, AnEncoderHasTheColumnsOfOnePass) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"serve", "bert-base-a100"},
                                             {"serve", "bert-base-a100", "--details"},
                                             {"serve", "bert-base-a100", "--search"},
                                             {"whatif", "bert-base-a100", "--vary", "requests.batch=8,32"},
                                             {"compare", "bert-base-a100", "--engines", "fastertransformer-bert"}}) {
    SCOPED_TRACE(testing::PrintToString(words));
    const Ran ran = run_foretoken(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    for (const char* const absent : {"TTFT", "TPOT", "first token", "cache 0", "of the cache", "with prompts"})
      EXPECT_THAT(ran.out, Not(HasSubstr(absent)));
    EXPECT_THAT(ran.out, HasSubstr("latency"));
  }
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

TEST(ServeCommand, AnEncoderRunsIn32Bits) {
  const auto answer = [](const char* precision) {
    return json::parse(run_foretoken({"serve", "bert-base-a100", "--json", "--precision", precision}).out);
  };
  const json half = answer("fp16"), tf32 = answer("tf32"), fp32 = answer("fp32");
  EXPECT_LT(half["latency_s"]["mean"], tf32["latency_s"]["mean"]);
  EXPECT_LT(tf32["latency_s"]["mean"], fp32["latency_s"]["mean"]);
  EXPECT_EQ(fp32["precision"], "fp32");
  EXPECT_EQ(fp32["memory"]["weights_bytes"], 2 * half["memory"]["weights_bytes"].get<double>());
  EXPECT_THAT(fp32["assumptions"].dump(), HasSubstr("products in fp32 are scaled from a100-sxm4-80gb fp16"));
  EXPECT_THAT(fp32["assumptions"].dump(), HasSubstr("attention unfused"));
  EXPECT_THAT(half["assumptions"].dump(), Not(HasSubstr("attention unfused")));
  const Ran search = run_foretoken({"serve", "bert-base-a100", "--search", "--precisions", "tf32,fp16"});
  EXPECT_EQ(search.status, 0) << search.err;
  EXPECT_THAT(search.out, HasSubstr("configurations of 2 layouts"));
  const Ran decoder = run_foretoken({"serve", "gpt3-20b-a100", "--search", "--precisions", "tf32"});
  EXPECT_EQ(decoder.status, 2);
  EXPECT_EQ(decoder.err,
            "--precisions tf32: expected 16 bits or fewer, found tf32: decoders are not served in 32 bits\n");
}

TEST(ServeCommand, TheAnswerNamesMarlinsExperts) {
  const auto assumptions = [](const std::string& backend) {
    const Ran ran = run_foretoken({"serve",         "--model", "gpt-oss-120b", "--cluster", "dgx-h100-ndr",
                                   "--gpus",        "1",       "--engine",     "vllm-2026", "--precision",
                                   "mxfp4",         "--input", "1024",         "--output",  "64",
                                   "--concurrency", "4",       "--json",       "--set",     "moe.backend=" + backend});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return json::parse(ran.out).at("assumptions").dump();
  };
  EXPECT_THAT(assumptions("marlin"), HasSubstr("experts by Marlin's kernels as vLLM runs them (moe.backend)"));
  EXPECT_THAT(assumptions("auto"), Not(HasSubstr("Marlin")));
}

TEST(ServeCommand, ASearchKeepsToPrecisionsThatItsBackendHas) {
  const std::vector<std::string> question{"serve", "--model",  "gpt-oss-120b", "--cluster",   "hgx-h200-ndr", "--gpus",
                                          "8",     "--engine", "trt-llm-2025", "--precision", "mxfp4",        "--input",
                                          "1024",  "--output", "64",           "--search",    "--precisions"};
  const auto search = [&](const char* precisions) {
    std::vector<std::string> words = question;
    words.insert(words.end(), {precisions, "--set", "moe.backend=triton"});
    return run_foretoken(words);
  };
  const Ran refused = search("mxfp4,fp8");
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.err,
            "--precisions fp8: moe.backend: expected auto: experts in fp8 have one kind of kernels; triton "
            "is of mxfp4\n");
}

TEST(ServeCommand, TheAnswerSaysTheKernelsOfExperts) {
  const Ran ran =
      run_foretoken({"serve", "--model", "gpt-oss-120b", "--cluster", "hgx-h200-ndr", "--gpus", "8", "--engine",
                     "trt-llm-2025", "--precision", "mxfp4", "--json", "--set", "moe.backend=triton"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["moe"]["backend"], "triton");
  EXPECT_THAT(answer["assumptions"].dump(), HasSubstr("experts by Triton's kernels (moe.backend)"));
  EXPECT_THAT(answer["assumptions"].dump(), HasSubstr("some experts are more popular than others"));
}

TEST(ServeCommand, SaysWhereTheCacheIsReadForEachQueryHead) {
  const auto assumptions = [](const char* cluster) {
    const Ran ran = run_foretoken({"serve", "--model", "llama-3-8b", "--cluster", cluster, "--gpus", "1", "--json",
                                   "--set", R"(engine={"base": "trt-llm", "xqa_group_sizes": [1, 8]})"});
    return json::parse(ran.out).at("assumptions").dump();
  };
  EXPECT_THAT(assumptions("dgx-b200-ndr"), HasSubstr("the rate of the L2 cache of b200-sxm-180gb is not known"));
  EXPECT_THAT(assumptions("dgx-a100-40gb-hdr"), Not(HasSubstr("L2 cache")));
}

TEST(ServeCommand, AnEncoderRunsInIntegersOf8Bits) {
  const auto answer = [](const char* precision) {
    return json::parse(run_foretoken({"serve", "bert-base-a100", "--json", "--precision", precision}).out);
  };
  const json half = answer("fp16"), narrow = answer("w8a8");
  EXPECT_LT(narrow["latency_s"]["mean"], half["latency_s"]["mean"]);
  EXPECT_THAT(narrow["assumptions"].dump(), HasSubstr("no table has it in integers of 8 bits"));
  const Ran unfused = run_foretoken({"serve", "bert-base-a100", "--json", "--precision", "w8a8", "--set",
                                     R"(engine={"base": "fastertransformer-bert", "fused_head_dims": [32]})"});
  EXPECT_THAT(json::parse(unfused.out)["assumptions"].dump(), HasSubstr("no fused kernels for heads of 64"));
  const Ran decoder = run_foretoken({"serve", "gpt3-20b-a100", "--precision", "w8a8"});
  EXPECT_EQ(decoder.status, 2);
  EXPECT_THAT(decoder.err, HasSubstr("w8a8 is of encoders, and "));
  EXPECT_THAT(decoder.err, HasSubstr("generates tokens; try int8 (weights alone) or fp8\n"));
}

TEST(ServeCommand, AnEncoderMayStateItsPadding) {
  const auto ask = [](const char* tokens) {
    return run_foretoken(
        with_sets({"serve", "bert-base-a100"}, {"precision=fp32", "requests.input_tokens=192", tokens}));
  };
  EXPECT_THAT(ask("requests.padded_tokens=384").out, HasSubstr("192 tokens each, padded to 384"));
  EXPECT_THAT(ask("requests.padded_tokens=100").err, HasSubstr("expected at least the 192 of input_tokens, found 100"));
  EXPECT_THAT(ask("requests.padded_tokens=1024").err, HasSubstr("expected at most 512 tokens, the positions"));
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

TEST(ServeCommand, AnEncoderDecoderHasTheColumnsOfADecoder) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"serve", "t5-base-a100"},
           {"serve", "t5-base-a100", "--details"},
           {"serve", "--model", "t5-3b", "--cluster", "dgx-h100-ndr"},
           {"whatif", "t5-base-a100", "--vary", "requests.batch=8,32"},
           {"compare", "t5-base-a100", "--engines", "fastertransformer,fastertransformer-t5"}}) {
    SCOPED_TRACE(testing::PrintToString(words));
    const Ran ran = run_foretoken(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, testing::AnyOf(HasSubstr("TTFT"), HasSubstr("first token")));
    EXPECT_THAT(ran.out, testing::AnyOf(HasSubstr("TPOT"), HasSubstr("output token")));
  }
  const Ran search = run_foretoken({"serve", "t5-base-a100", "--search", "--gpus", "1,2"});
  EXPECT_EQ(search.status, 0) << search.err;
  const json answer = json::parse(run_foretoken({"serve", "t5-base-a100", "--json"}).out);
  EXPECT_EQ(answer["run"]["passes"], 64);
  EXPECT_GT(answer["ttft_s"]["mean"], answer["tpot_s"]["mean"]);
  const json wide = json::parse(run_foretoken({"serve", "t5-base-a100", "--json", "--precision", "fp32"}).out);
  EXPECT_EQ(wide["memory"]["cache_bytes"], 2 * answer["memory"]["cache_bytes"].get<double>());
}

TEST(ServeCommand, ABeamSearchIsSaidEverywhere) {
  const std::vector<std::string> beams = with_sets({"serve", "t5-base-a100"}, {"requests.beam_width=4"});
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = beams;
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_foretoken(words);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  };
  EXPECT_THAT(with({}), HasSubstr("64 out, by 4 beams"));
  EXPECT_THAT(with({"--details"}), HasSubstr("beam search as FasterTransformer runs it"));
  const json answer = json::parse(with({"--json"}));
  const json sampled = json::parse(run_foretoken({"serve", "t5-base-a100", "--json"}).out);
  EXPECT_EQ(answer["beam_width"], 4);
  EXPECT_EQ(sampled["beam_width"], 1);
  EXPECT_EQ(answer["nearest"]["place"]["beams"], "4");
  EXPECT_EQ(answer["run"]["output_tokens"], sampled["run"]["output_tokens"]);
  EXPECT_GT(answer["memory"]["cache_bytes"], 4 * sampled["memory"]["cache_bytes"].get<double>());
  const json found = json::parse(with({"--search", "--batch", "32", "--json"}));
  EXPECT_THAT(found["recommended"]["command"].get<std::string>(), HasSubstr("requests.beam_width=4"));
  EXPECT_NEAR(found["recommended"]["latency_s"]["mean"].get<double>(), answer["latency_s"]["mean"].get<double>(), 1e-9);
}

TEST(ServeCommand, AShortMeanNeedsABatchThatCanHaveIt) {
  const auto with_batch = [](const std::string& batch) {
    return with_sets({"serve", "t5-base-a100"},
                     {"requests.batch=" + batch, "requests.output_tokens=52", "requests.mean_output_tokens=21"});
  };
  const Ran one = run_foretoken(with_batch("1"));
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.err, HasSubstr("mean_output_tokens=21: expected at least 52: one of 1 answers has the 52"));
  EXPECT_EQ(run_foretoken(with_batch("2")).status, 2) << "52 and 1 have a mean of 26.5";
  EXPECT_EQ(run_foretoken(with_batch("3")).status, 0);
  std::vector<std::string> search = with_batch("32");
  search.insert(search.end(), {"--search", "--json"});
  const json found = json::parse(run_foretoken(search).out);
  ASSERT_FALSE(found["ranked"].empty());
  for (const auto& each : found["ranked"]) EXPECT_GE(each["batch"], 4);
}

TEST(ServeCommand, AnEncoderDecoderIsAskedAsOne) {
  const auto complaint = [](const std::string& set) {
    const Ran ran = run_foretoken(with_sets({"serve", "t5-base-a100"}, {set}));
    EXPECT_EQ(ran.status, 2) << set;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    return ran.err;
  };
  for (const char* const engine : {"vllm", "sglang", "trt-llm", "megatron", "fastertransformer-bert"})
    EXPECT_THAT(run_foretoken(with_sets({"serve", "t5-base-a100"}, {std::string("engine=") + engine})).err,
                HasSubstr(std::string("which engine ") + engine + " does not serve; try fastertransformer-t5"));
  EXPECT_THAT(complaint("requests.prefix_share=0.5"), HasSubstr("a static batch keeps no prefixes"));
  EXPECT_THAT(complaint("requests.mean_output_tokens=65"), HasSubstr("expected at most the 64 of output_tokens"));
  EXPECT_THAT(complaint("chunked_prefill=512"), HasSubstr("expected none"));
  EXPECT_THAT(complaint(R"(speculative={"tokens": 4, "acceptance": 0.5})"), HasSubstr("expected none for static"));
  const Ran split = run_foretoken(
      with_sets({"serve", "t5-base-a100"}, {R"(disaggregated={"prefill": {}, "decode": {}})", "gpus=null"}));
  EXPECT_THAT(split.err, testing::EndsWith("expected none for static batching\n"));
  EXPECT_THAT(complaint("kv_precision=fp32"), HasSubstr("expected weights and cache of 32 bits, or neither"));
  const Ran stages = run_foretoken(with_sets({"serve", "t5-base-a100"}, {"parallelism.pipeline=2", "gpus=2"}));
  EXPECT_THAT(stages.err, HasSubstr("expected 1: an encoder-decoder is served on tensor ranks alone, found 2"));
  const auto warns = [](const char* input) {
    const Ran ran = run_foretoken(
        with_sets({"serve", "t5-base-a100", "--json"}, {"model=bart-large", "requests.output_tokens=1000", input}));
    return json::parse(ran.out)["warnings"].dump();
  };
  EXPECT_EQ(warns("requests.input_tokens=1000"), "[]") << "each half has 1026 positions";
  EXPECT_THAT(warns("requests.input_tokens=1100"), HasSubstr("Requests of 1100 tokens exceed the 1026 positions"));
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

}  // namespace
}  // namespace foretoken::tools

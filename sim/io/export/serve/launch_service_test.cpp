// Tests the commands that start services.
#include "sim/io/export/serve/launch_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/io/serve/read_service.h"

namespace foretoken::io {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

serve::Service service_with(std::vector<std::string> sets) {
  return read_service_file(FORETOKEN_SOURCE_DIR "/scenarios/serve/llama-3-70b-chat-8-h100.json", sets);
}

/// Returns the word behind a flag, or nothing.
std::string value_of(const std::vector<std::string>& words, const std::string& flag) {
  const auto found = std::find(words.begin(), words.end(), flag);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

TEST(LaunchService, VllmHasAFlagForEveryChoice) {
  const ServiceCommands commands =
      commands_of(service_with({"chunked_prefill=4096", "kv_precision=fp8", "precision=fp8"}));
  ASSERT_EQ(commands.launches.size(), 1U);
  EXPECT_THAT(commands.launches[0].words,
              ElementsAre("vllm", "serve", "llama-3-70b", "--tensor-parallel-size", "8", "--dtype", "bfloat16",
                          "--quantization", "fp8", "--kv-cache-dtype", "fp8", "--max-num-batched-tokens", "4096",
                          "--max-num-seqs", "64", "--max-model-len", "1280", "--gpu-memory-utilization", "0.9",
                          "--block-size", "16"));
}

TEST(LaunchService, ALaterVllmHasTheSameCommandWithItsOwnTokens) {
  const auto words_of = [](const char* engine) {
    return commands_of(service_with({std::string("engine=") + engine})).launches.at(0).words;
  };
  const std::vector<std::string> old = words_of("vllm"), later = words_of("vllm-2026");
  ASSERT_EQ(old.size(), later.size());
  EXPECT_EQ(later.front(), "vllm");
  EXPECT_EQ(value_of(old, "--max-num-batched-tokens"), "2048");
  EXPECT_EQ(value_of(later, "--max-num-batched-tokens"), "8192");
}

TEST(LaunchService, ALaterTensorRtLlmHasTheSameCommand) {
  const auto words_of = [](const char* engine) {
    return commands_of(service_with({std::string("engine=") + engine})).launches.at(0).words;
  };
  EXPECT_EQ(words_of("trt-llm-2025"), words_of("trt-llm"));
}

TEST(LaunchService, AttentionDataAndExpertsHaveTheWordsOfEachEngine) {
  const std::vector<std::string> mixture{"model=mixtral-8x7b",
                                         R"(parallelism={"tensor": 2, "attention_data": 4, "expert": 8})"};
  const auto words_of = [&](const char* engine) {
    std::vector<std::string> sets = mixture;
    sets.push_back(std::string("engine=") + engine);
    return commands_of(service_with(sets)).launches.at(0).words;
  };
  const std::vector<std::string> vllm = words_of("vllm"), sglang = words_of("sglang");
  EXPECT_EQ(value_of(vllm, "--tensor-parallel-size"), "2");
  EXPECT_EQ(value_of(vllm, "--data-parallel-size"), "4");
  EXPECT_THAT(vllm, Contains("--enable-expert-parallel"));
  EXPECT_EQ(value_of(sglang, "--tp-size"), "8");  // of all attention groups together
  EXPECT_EQ(value_of(sglang, "--dp-size"), "4");
  EXPECT_EQ(value_of(sglang, "--ep-size"), "8");
  EXPECT_THAT(sglang, Contains("--enable-dp-attention"));
  EXPECT_EQ(value_of(vllm, "--max-num-batched-tokens"), "2048");  // each of four engine cores has its own
  EXPECT_EQ(value_of(vllm, "--max-num-seqs"), "16");
  EXPECT_EQ(value_of(sglang, "--chunked-prefill-size"), "8192");  // SGLang divides it itself
}

TEST(LaunchService, SglangIsToldToMixPromptsWithDecoding) {
  const auto words_of = [](const std::string& engine) {
    return commands_of(service_with({"engine=" + engine})).launches.at(0).words;
  };
  EXPECT_THAT(words_of("sglang"), Not(Contains("--enable-mixed-chunk")));
  const std::vector<std::string> mixed = words_of("sglang-mixed");
  EXPECT_THAT(mixed, Contains("--enable-mixed-chunk"));
  EXPECT_EQ(value_of(mixed, "--chunked-prefill-size"), "8192");
  const std::vector<std::string> whole =
      words_of(R"({"base": "sglang-mixed", "batching": {"chunks_prompts": false, "token_budget": 2500}})");
  EXPECT_EQ(value_of(whole, "--max-prefill-tokens"), "2500");
}

TEST(LaunchService, MarlinsKernelsAreAskedForOutsideTheCommand) {
  const auto remarks_with = [](const std::string& engine) {
    return commands_of(service_with({"model=gpt-oss-120b", "precision=mxfp4", "moe.backend=marlin", engine})).remarks;
  };
  EXPECT_THAT(remarks_with("engine=vllm-2026"), Contains("start vLLM with VLLM_MXFP4_USE_MARLIN=1 in its environment"));
  EXPECT_THAT(remarks_with("engine=trt-llm"), Contains(HasSubstr("no word for Marlin's kernels")));
}

TEST(LaunchService, TritonsKernelsStandInTheOptionsOfTensorRtLlm) {
  const auto commands = commands_of(service_with(
      {"model=gpt-oss-120b", "cluster=hgx-h200-ndr", "precision=mxfp4", "engine=trt-llm-2025", "moe.backend=triton"}));
  EXPECT_THAT(commands.remarks, Contains(HasSubstr("options.yaml holds moe_config: {backend: TRITON}")));
}

TEST(LaunchService, NcclsAllReducesAreAskedFor) {
  const auto words = [](const char* engine) { return commands_of(service_with({engine})).launches.at(0).words; };
  EXPECT_THAT(words(R"(engine={"base": "vllm", "all_reduce": "nccl"})"), Contains("--disable-custom-all-reduce"));
  EXPECT_THAT(words(R"(engine={"base": "sglang", "all_reduce": "nccl"})"), Contains("--disable-custom-all-reduce"));
  EXPECT_THAT(words("engine=vllm"), Not(Contains("--disable-custom-all-reduce")));
  const auto remarks = [](const char* engine) { return commands_of(service_with({engine})).remarks; };
  EXPECT_THAT(remarks(R"(engine={"base": "trt-llm", "all_reduce": "nccl"})"),
              Contains(HasSubstr("allreduce_strategy: NCCL")));
  EXPECT_THAT(remarks(R"(engine={"base": "vllm", "all_reduce": "sglang"})"),
              Contains(HasSubstr("no word for all-reduces of sglang")));
}

TEST(LaunchService, TensorRtLlmIsToldAnotherCapacityPolicy) {
  const auto remarks_with = [](std::vector<std::string> sets) {
    sets.emplace_back("engine=trt-llm");
    return commands_of(service_with(std::move(sets))).remarks;
  };
  const auto policy = HasSubstr("scheduler_config: {capacity_scheduler_policy: MAX_UTILIZATION}");
  EXPECT_THAT(remarks_with({}), Not(Contains(policy)));
  EXPECT_THAT(remarks_with({"capacity_scheduler_policy=max_utilization"}), Contains(policy));
}

TEST(LaunchService, OtherEnginesSayThatTheyHaveNoOtherCapacityPolicy) {
  for (const std::string engine : {"vllm", "sglang"}) {
    const auto remarks_with = [&](const std::string& policy) {
      return commands_of(service_with({"engine=" + engine, "capacity_scheduler_policy=" + policy})).remarks;
    };
    EXPECT_THAT(remarks_with("guaranteed_no_evict"),
                Contains("the command cannot ask for guaranteed_no_evict: " + engine +
                         " has no flag for it, and runs by max_utilization"));
    EXPECT_THAT(remarks_with("max_utilization"), Not(Contains(HasSubstr("max_utilization"))));
  }
}

TEST(LaunchService, PoolsHaveCommandsOfTheirOwn) {
  const std::vector<std::string> split{
      "parallelism=null",
      R"(disaggregated={"prefill": {"gpus": 4, "parallelism": {"tensor": 2}}, "decode": {"gpus": 4, "parallelism": {"tensor": 4}}})"};
  const ServiceCommands commands = commands_of(service_with(split));
  ASSERT_EQ(commands.launches.size(), 2U);
  EXPECT_EQ(commands.launches[0].role, "prefill");
  EXPECT_EQ(commands.launches[0].instances, 2);
  EXPECT_EQ(commands.launches[1].role, "decode");
  EXPECT_EQ(value_of(commands.launches[1].words, "--tensor-parallel-size"), "4");
  EXPECT_THAT(value_of(commands.launches[1].words, "--kv-transfer-config"), HasSubstr("NixlConnector"));
  EXPECT_THAT(commands.remarks, Contains(HasSubstr("router")));
}

TEST(LaunchService, WhatACommandCannotSayIsRemarked) {
  EXPECT_THAT(commands_of(service_with({"precision=int4"})).remarks, Contains(HasSubstr("a checkpoint in int4")));
  EXPECT_THAT(commands_of(service_with({"precision=int4"})).launches[0].words, Not(Contains("--quantization")));
  EXPECT_THAT(commands_of(service_with({"kv_precision=int8"})).remarks, Contains(HasSubstr("no word for int8")));
  EXPECT_THAT(commands_of(service_with({"kv_precision=fp8"})).remarks, Not(Contains(HasSubstr("int8"))));
  const std::vector<std::string> split{
      "engine=trt-llm", "parallelism=null",
      R"(disaggregated={"prefill": {"gpus": 4, "parallelism": {"tensor": 4}}, "decode": {"gpus": 4, "parallelism": {"tensor": 4}}})"};
  for (const char* const file : {"prefill.yaml holds cache_transceiver", "decode.yaml holds cache_transceiver"})
    EXPECT_THAT(commands_of(service_with(split)).remarks, Contains(HasSubstr(file)));
  EXPECT_THAT(commands_of(service_with({R"(speculative={"tokens": 3, "acceptance": 0.7})"})).remarks,
              Contains(HasSubstr("draft")));
}

TEST(LaunchService, WhatAnEngineCannotDoHasNoCommand) {
  const std::vector<std::vector<std::string>> impossible{
      {"model=mixtral-8x7b", R"(parallelism={"tensor": 2, "attention_data": 4, "expert": 4})"},
      {"model=mixtral-8x7b", "engine=trt-llm", R"(parallelism={"tensor": 2, "attention_data": 4, "expert": 8})"},
      {"parallelism=null",
       R"(disaggregated={"prefill": {"gpus": 4, "parallelism": {"tensor": 2, "pipeline": 2}}, "decode": {"gpus": 4, "parallelism": {"tensor": 4}}})"}};
  for (const std::vector<std::string>& sets : impossible) {
    const ServiceCommands commands = commands_of(service_with(sets));
    EXPECT_TRUE(commands.launches.empty());
    EXPECT_THAT(commands.remarks, ElementsAre(HasSubstr("no command")));
  }
  const std::vector<std::string> all_groups =
      commands_of(
          service_with({"model=mixtral-8x7b", "engine=trt-llm", R"(parallelism={"attention_data": 8, "expert": 8})"}))
          .launches.at(0)
          .words;
  EXPECT_EQ(value_of(all_groups, "--tp_size"), "8");
  EXPECT_EQ(value_of(all_groups, "--extra_llm_api_options"), "options.yaml");
}

TEST(LaunchService, EnginesStartWithTheirLimits) {
  // vLLM refuses fewer tokens a pass than sequences; TensorRT-LLM refuses prompts longer than a pass without chunks.
  const std::vector<std::string> poisson{"requests.concurrency=null", "requests.rate_per_s=2", "chunked_prefill=512"};
  EXPECT_EQ(value_of(commands_of(service_with(poisson)).launches.at(0).words, "--max-num-seqs"), "512");
  const std::vector<std::string> words =
      commands_of(service_with({"engine=trt-llm", "requests.input_tokens=4096"})).launches.at(0).words;
  EXPECT_EQ(value_of(words, "--max_num_tokens"), "4352");
}

TEST(LaunchService, AnEngineWithoutAKnownCommandHasNone) {
  const serve::Service service = read_service_file(FORETOKEN_SOURCE_DIR "/scenarios/serve/gpt3-20b-a100.json");
  EXPECT_TRUE(commands_of(service).launches.empty());
}

}  // namespace
}  // namespace foretoken::io

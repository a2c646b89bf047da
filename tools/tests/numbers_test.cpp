// Tests numbers at their limits, and answers that have to agree with one another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/test_sanitized.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Numbers, StepsBeyondTheClockAreOneClearLine) {
  for (const char* verb : {"simulate", "explain"})
    for (const char* attention : {"flash", "unfused"})
      for (int sequence = 1 << 24; sequence <= 1 << 27; sequence *= 2) {
        SCOPED_TRACE(fmt::format("{} {} {}", verb, attention, sequence));
        const Ran ran =
            run_foretoken({verb, "llama-2-7b-8-a100", "--set", fmt::format("batch.sequence_length={}", sequence),
                           "--set", fmt::format("attention={}", attention)});
        EXPECT_EQ(ran.status, 2) << ran.err;
        EXPECT_THAT(lines_of(ran.err), SizeIs(1));
        EXPECT_THAT(ran.err, HasSubstr("would last"));
        EXPECT_THAT(ran.out, IsEmpty());
      }
}

TEST(Numbers, DenormalsCountAsZeroAndHugeOnesAreRefused) {
  const TemporaryFolder folder;
  const std::string page = folder.file("r.html");
  const auto report = [&](const char* set) {
    return run_foretoken({"report", "llama-2-7b-8-a100", "--set", set, "-o", page});
  };
  for (const char* tokens : {"run.tokens=1e-320", "run.tokens=1e-300", "run.tokens=1e300", "run.tokens=0"}) {
    const Ran ran = report(tokens);
    EXPECT_EQ(ran.status, 2) << tokens;
    EXPECT_THAT(ran.err, HasSubstr("expected a number from 1 to 1e+18"));
    EXPECT_THAT(folder.names(), IsEmpty());
  }
  const Ran cheap = run_foretoken(
      {"simulate", "llama-2-7b-8-a100", "--json", "--set", R"(run={"tokens":1e9,"price_per_gpu_hour":1e-320})"});
  EXPECT_EQ(cheap.status, 0) << cheap.err;
  EXPECT_EQ(json::parse(cheap.out)["run"]["cost"], 0);
  const Ran slow = run_foretoken({"simulate", "llama-2-7b-8-a100", "--set",
                                  R"(cluster.gpu={"base":"a100-sxm4-80gb","peak_tflops":{"bf16":1e-300}})"});
  EXPECT_EQ(slow.status, 2);
  EXPECT_THAT(slow.err, HasSubstr("expected a number from 0.001 to 1000000, found 1e-300"));
}

std::string scenario(const char* model, const char* cluster, int gpus, const std::string& rest) {
  return fmt::format(R"({{"model":"{}","cluster":"{}","gpus":{},{}}})", model, cluster, gpus, rest);
}

json answer(const std::string& question) {
  const Ran ran = run_foretoken({"simulate", "-", "--json"}, question);
  EXPECT_EQ(ran.status, 0) << ran.err;
  return json::parse(ran.out);
}

TEST(Answers, WaitingForParametersIsNoBubble) {
  const json fsdp =
      answer(scenario("llama-2-7b", "jean-zay-a100-80gb-opa", 32,
                      R"("batch":{"micro":1,"global":32,"sequence_length":512},"runtime":"pytorch-fsdp")"));
  EXPECT_GT(fsdp["time_s"]["data_parallel_comm"], 0.1) << "it does wait for parameters";
  for (const char* key : {"bubble_fraction", "ideal_bubble_fraction", "bubble_fraction_of_step"})
    EXPECT_EQ(fsdp[key], 0) << key;
}

TEST(Answers, AJobWithoutDropoutIsNotSlower) {
  const auto with = [](double dropout) {
    const std::string rest = fmt::format(
        R"("parallelism":{{"tensor":2,"pipeline":4,"sequence_parallel":true}},"batch":{{"micro":1,"global":64,)"
        R"("sequence_length":512}},"runtime":"megatron-deepspeed-2022","dropout":{})",
        dropout);
    return answer(scenario("gpt2", "perlmutter", 16, rest))["step_time_s"].get<double>();
  };
  EXPECT_LE(with(0), with(0.1));
}

TEST(Answers, AZeroStageThatNeedsMoreThanTheOneBelowSaysSo) {
  const auto with = [](int stage, const char* more, const char* model = "gpt2") {
    const std::string rest = fmt::format(R"({}"optimizer":{{"zero_stage":{}}},"batch":{{)"
                                         R"("micro":1,"global":8,"sequence_length":512}})",
                                         more, stage);
    return answer(scenario(model, "jean-zay-a100-80gb-opa", 8, rest));
  };
  const auto says_so = [&](const char* model, const char* more, int stage, const char* words) {
    const json above = with(stage, more, model), below = with(stage - 1, more, model);
    EXPECT_GT(above["memory"]["peak_bytes"], below["memory"]["peak_bytes"]);
    EXPECT_THAT(above["warnings"].dump(), HasSubstr(words));
    EXPECT_THAT(below["warnings"].dump(), testing::Not(HasSubstr(fmt::format("ZeRO-{} needs", stage))));
  };
  says_so("gpt2", R"("parallelism":{"tensor":4},)", 2, "more than ZeRO-1 here: a bucket of gradients stands beside");
  says_so("llama-2-7b", R"("runtime":"torchtitan","parallelism":{"tensor":4},"training":{"method":"lora","rank":16},)",
          2, "more than ZeRO-1 here: whole weights stand beside the shards");
  EXPECT_THAT(with(2, R"("parallelism":{"tensor":1},"runtime":"torchtitan",)")["warnings"].dump(),
              testing::Not(HasSubstr("more than ZeRO-1")));
}

// A backward pass that is split keeps bytes for its second part. Activations that are back from the host are among
// them.
TEST(Answers, OffloadedActivationsNeedNoMoreMemory) {
  for (const char* schedule : {"1f1b", "zb-h1", "zb-h2"}) {
    const auto with = [&](const char* offload) {
      const std::string rest = fmt::format(
          R"("parallelism":{{"tensor":8,"pipeline":4,"sequence_parallel":true}},"schedule":"{}",{}"batch":{{"micro":2,)"
          R"("global":64,"sequence_length":4096}})",
          schedule, offload);
      return answer(scenario("mistral-7b", "hgx-h200-ndr", 128, rest))["memory"]["peak_bytes"].get<double>();
    };
    EXPECT_LE(with(R"("offload":{"activations":"cpu"},)"), with("")) << schedule;
  }
}

TEST(Answers, WhatifGivesTheAdviceOfSimulate) {
  const std::vector<std::string> simulate = {"simulate", "llama-2-7b-8-a100", "--set", "batch.global=256",
                                             "--set",    "batch.micro=32",    "--json"};
  const std::vector<std::string> whatif = {"whatif", "llama-2-7b-8-a100", "--set", "batch.global=256",
                                           "--vary", "batch.micro=32",    "--json"};
  const json advice = json::parse(run_foretoken(simulate).out)["memory"]["advice"];
  EXPECT_TRUE(advice.is_string());
  EXPECT_EQ(json::parse(run_foretoken(whatif).out)["rows"][0]["result"]["memory"]["advice"], advice);
}

TEST(Answers, AReportTakesAPlanWithoutCost) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const TemporaryFolder folder;
  const Ran plan = run_foretoken({"plan", "llama-2-7b-8-a100", "--free", "parallelism.data", "--tokens", "1B", "--gpus",
                                  "8", "--set", R"(run={"tokens":1e9,"price_per_gpu_hour":0})", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(json::parse(plan.out)["options"][0]["cost"], 0);
  const Ran report = run_foretoken({"report", folder.put("plan.json", plan.out), "-o", folder.file("r.html")});
  EXPECT_EQ(report.status, 0) << report.err;
}

TEST(Answers, AFileThatHidesAShippedOneIsSaidOnce) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("models"));
  json model = json::parse(contents(FORETOKEN_SOURCE_DIR "/models/gpt2.json"));
  const std::string shipped = contents(FORETOKEN_SOURCE_DIR "/models/gpt2.json");
  const std::string question =
      scenario("gpt2", "dgx-a100-80gb-hdr", 1, R"("batch":{"micro":1,"global":1,"sequence_length":512})");
  folder.put("s.json", question);
  const std::string command = fmt::format(
      "cd '{}' && unset FORETOKEN_DATA && '{}' whatif s.json --vary dropout=0,0.1 "
      ">out 2>err",
      folder.file(""), FORETOKEN_BINARY);
  folder.put("models/gpt2.json", shipped);
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(contents(folder.file("err")), "") << "the same bytes hide nothing";
  model["n_layer"] = 24;
  folder.put("models/gpt2.json", model.dump());
  ASSERT_EQ(std::system(command.c_str()), 0) << contents(folder.file("err"));
  const auto lines = lines_of(contents(folder.file("err")));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("models/gpt2.json: used in place of the shipped model \"gpt2\""));
}

}  // namespace
}  // namespace foretoken::tools

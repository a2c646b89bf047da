// Tests questions without a file: simulate, search and plan from options alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/base/test_sanitized.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::vector<std::string> kFirst = {"simulate",     "--model", "qwen3-32b", "--cluster",
                                         "dgx-h100-ndr", "--gpus",  "64"};

std::vector<std::string> with_more(std::vector<std::string> arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more);
  return arguments;
}

TEST(QuestionOptions, AFirstAnswerNeedsOneCommandAndNoFile) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const Ran ran = run_foretoken(kFirst);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("qwen3-32b on 64 GPUs of dgx-h100-ndr"));
  EXPECT_THAT(ran.out, HasSubstr("Sequences of 4096 tokens"));
  EXPECT_THAT(ran.out, HasSubstr("A global batch of 1024 sequences, 4.2 million tokens"));
  EXPECT_THAT(ran.out, HasSubstr("The fastest of"));
}

TEST(QuestionOptions, TheAnswerIsTheFirstRankOfASearch) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  const Ran simulated = run_foretoken(with_more(kFirst, {"--json"}));
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  const Ran searched = run_foretoken(
      {"search", "--model", "qwen3-32b", "--cluster", "dgx-h100-ndr", "--gpus", "64", "--json", "--top", "1"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  EXPECT_THAT(searched.err, HasSubstr("Assumed: A global batch of 1024 sequences"));
  EXPECT_EQ(json::parse(simulated.out)["step_time_s"], json::parse(searched.out)["ranked"][0]["step_time_s"]);
}

TEST(QuestionOptions, OldCardsTrainInFp16) {
  const Ran ran = run_foretoken({"simulate", "--model", "gpt2", "--cluster", "t4-16gb", "--gpus", "1"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err + ran.out, HasSubstr("Precision fp16: t4-16gb has no bf16"));
  EXPECT_EQ(
      run_foretoken({"simulate", "--model", "gpt2", "--cluster", "t4-16gb", "--gpus", "1", "--set", "precision=bf16"})
          .status,
      2);
}

TEST(QuestionOptions, StatedKeysHold) {
  const Ran ran =
      run_foretoken(with_more(kFirst, {"--tp", "8", "--pp", "2", "--dp", "4", "--cp", "1", "--micro-batch", "1",
                                       "--global-batch", "128", "--seq", "8k", "--tokens", "15T", "--json"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  const double tokens_per_step = answer["tokens_per_s"].get<double>() * answer["step_time_s"].get<double>();
  EXPECT_NEAR(tokens_per_step, 128.0 * 8192, 1) << "8k tokens are 8192";
  EXPECT_THAT(ran.out, HasSubstr("TP8 PP2"));
}

TEST(QuestionOptions, TheyChangeAScenario) {
  const Ran by_set = run_foretoken({"simulate", "gpt-22b-8-a100-full", "--json", "--set", "batch.global=8"});
  const Ran by_option = run_foretoken({"simulate", "gpt-22b-8-a100-full", "--json", "--global-batch", "8"});
  ASSERT_EQ(by_option.status, 0) << by_option.err;
  EXPECT_EQ(by_option.out, by_set.out);
}

TEST(QuestionOptions, AModelThatFitsNowhereIsRefused) {
  const Ran ran = run_foretoken({"simulate", "--model", "gpt3-175b", "--cluster", "dgx-h100-ndr", "--gpus", "8"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("configurations fits in memory; try more GPUs"));
}

TEST(QuestionOptions, WhatIsMissingOrWrongIsNamed) {
  const std::vector<Wrong> wrong = {
      {"no cluster", {"simulate", "--model", "qwen3-32b", "--gpus", "8"}, "without a SCENARIO, --cluster is required"},
      {"no model", {"search", "--cluster", "dgx-h100-ndr", "--gpus", "8"}, "without a SCENARIO, --model is required"},
      {"unknown model",
       {"simulate", "--model", "qwen3-32", "--cluster", "dgx-h100-ndr", "--gpus", "8"},
       "--model qwen3-32: unknown model \"qwen3-32\"; did you mean \"qwen3-32b\"?"},
      {"no number", with_more(kFirst, {"--tp", "many"}), "--tp many: expected a whole number from 1 to 1048576"},
      {"no number with a file", {"simulate", "gpt-22b-8-a100-full", "--seq", "x"}, "--seq x: expected "},
      {"no number in a search",
       {"search", "gpt-22b-8-a100-full", "--global-batch", "some"},
       "--global-batch some: expected "},
      {"no cluster in a plan",
       {"plan", "gpt-22b-8-a100-full", "--tokens", "1B", "--cluster", "dgx-h10-ndr"},
       "--cluster dgx-h10-ndr: unknown cluster"},
      {"GPUs of a search",
       {"search", "--model", "qwen3-32b", "--cluster", "dgx-h100-ndr", "--gpus", "64", "--tp", "3"},
       "--gpus 64: expected a multiple of tensor 3"},
      {"a key of --set", with_more(kFirst, {"--set", "batch.micro=x"}), "--set batch.micro=x: expected "},
      {"a model of Hugging Face",
       {"simulate", "--model", "Qwen/Qwen3-4B", "--cluster", "dgx-h100-ndr", "--gpus", "8"},
       "save https://huggingface.co/Qwen/Qwen3-4B/raw/main/config.json and give the path of that file"},
      {"an option twice", with_more(kFirst, {"--gpus", "8"}), "--gpus is stated more than once; keep one"},
      {"neighbours", {"simulate", "--share-cluster", "--model", "qwen3-32b"}, "SCENARIO is required with"}};
  for (const Wrong& c : wrong) {
    SCOPED_TRACE(c.what);
    const Ran ran = run_foretoken(c.arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr(c.complaint));
  }
}

TEST(QuestionOptions, FilesAreNamedByWhatStandsInThem) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("My-Phi"));
  const std::string model =
      folder.put("My-Phi/config.json", R"({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 4,
      "num_attention_heads": 8, "intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 2048})");
  const Ran ran = run_foretoken({"simulate", "--model", model, "--cluster", "dgx-a100-80gb-hdr", "--gpus", "8"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::StartsWith("My-Phi on 8 GPUs of dgx-a100-80gb-hdr\n"));
}

TEST(QuestionOptions, NamesMayHaveCapitals) {
  const Ran ran = run_foretoken({"simulate", "--model", "GPT2", "--cluster", "dgx-a100-80gb-hdr", "--gpus", "8"});
  EXPECT_EQ(ran.status, 0) << ran.err;
}

TEST(QuestionOptions, NoOutputReplacesAFileThatTheyName) {
  const TemporaryFolder folder;
  const std::string text = R"({"base": "gpt2"})", model = folder.put("m.json", text);
  for (const char* output : {"--trace", "--svg"}) {
    const Ran ran =
        run_foretoken({"simulate", "--model", model, "--cluster", "dgx-a100-80gb-hdr", "--gpus", "8", output, model});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr(output));
    EXPECT_EQ(contents(model), text);
  }
}

TEST(QuestionOptions, AConfigGivenAsAScenarioIsRecognised) {
  const TemporaryFolder folder;
  const std::string file = folder.put("config.json", R"({"model_type": "qwen3", "hidden_size": 5120})");
  for (const char* command : {"simulate", "search"}) {
    const Ran ran = run_foretoken({command, file});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr("the config of a model, not a scenario; a scenario names a model, a cluster"));
    EXPECT_THAT(ran.err, HasSubstr("foretoken simulate --model " + file));
  }
}

}  // namespace
}  // namespace foretoken::tools

// Tests first answers of `foretoken serve` that need no file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ServeOptions, AFirstAnswerNeedsNoFile) {
  const std::vector<std::string> words{"serve", "--model", "llama-3-70b", "--cluster", "dgx-h100-ndr"};
  const Ran ran = run_foretoken(words);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("llama-3-70b on 4 GPUs of dgx-h100-ndr, vllm in bf16"));
  EXPECT_THAT(ran.out, HasSubstr("160 requests by 16 users at once: 1,024 tokens in, 256 out"));
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
  EXPECT_THAT(ran.out, HasSubstr("one batch of 4: 2,048 tokens in, 64 out"));
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

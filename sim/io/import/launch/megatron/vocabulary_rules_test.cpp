// Tests the rounding of the vocabulary, and flags that tell a BERT.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

// A functional test of Megatron-LM, saved without its folders.
Report read_functional(const std::string& flags) {
  return read_test_launch(
      "MODEL_ARGS:\n  --num-layers: 24\n  --hidden-size: 1024\n  --num-attention-heads: 16\n  --seq-length: 512\n"
      "  --max-position-embeddings: 512\n  --micro-batch-size: 4\n  --global-batch-size: 32\n  --fp16: true\n"
      "  --tensor-model-parallel-size: 2\n" +
          flags,
      "model_config.yaml");
}

std::string question_about(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  return found == report.asked.end() ? "" : found->because;
}

TEST(Vocabulary, IsRoundedUpByTheStatedNumberTimesTheTensorRanks) {
  const auto words = [](const std::string& divisor) {
    return read_functional("  --vocab-size: 50257\n  --make-vocab-size-divisible-by: " + divisor + "\n")
        .whole("model.vocab_size");
  };
  EXPECT_EQ(words("3232"), 8 * 3232 * 2);
  EXPECT_EQ(words("1"), 50258);
  EXPECT_EQ(words("128"), 50257) << "the runtime's own number";
  EXPECT_EQ(read_functional("  --padded-vocab-size: 50432\n  --make-vocab-size-divisible-by: 3232\n")
                .whole("model.vocab_size"),
            50432);
}

TEST(Vocabulary, OfATokenizerIsAskedForAsItIsRounded) {
  const std::string question =
      question_about(read_functional("  --make-vocab-size-divisible-by: 3232\n"), "model.vocab_size");
  EXPECT_NE(question.find("a multiple of 3232 x tensor 2 = 6464"), std::string::npos) << question;
  for (const char* usual : {"", "  --make-vocab-size-divisible-by: 128\n"}) {
    const std::string open = question_about(read_functional(usual), "model.vocab_size");
    EXPECT_NE(open.find("a multiple of 128 x tensor 2 = 256"), std::string::npos) << open;
    EXPECT_NE(open.find("state that number"), std::string::npos) << open;
  }
}

TEST(Vocabulary, RowsThatTheRuntimeAddsAreNamed) {
  EXPECT_TRUE(read_functional("  --vocab-size: 50257\n  --make-vocab-size-divisible-by: 64\n")
                  .names("make-vocab-size-divisible-by"));
  EXPECT_FALSE(
      std::ranges::any_of(read_functional("  --vocab-size: 50257\n  --make-vocab-size-divisible-by: 3232\n").assumed,
                          [](const Assumed& one) { return one.key == "--make-vocab-size-divisible-by"; }));
}

TEST(Bert, IsToldByAHeadThatOnlyItLeavesOut) {
  const Report report = read_functional("  --bert-no-binary-head: true\n");
  EXPECT_EQ(report.at("model").value("model_type", ""), "bert");
  EXPECT_EQ(report.at("model").at("architectures"), Json::array({"BertForMaskedLM"}));
  EXPECT_EQ(read_functional("  --bert-no-binary-head: false\n").at("model").value("model_type", ""), "megatron");
  const Report gpt = read_test_launch(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
      "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --bf16 --bert-no-binary-head",
      "train.sh");
  EXPECT_EQ(gpt.at("model").value("model_type", ""), "megatron") << "the program decides";
}

TEST(Bert, MasksTokens) {
  EXPECT_EQ(refused_lines(read_functional("  --bert-no-binary-head: true\n  --mlm-probability: 0.3\n")), "");
  EXPECT_NE(refused_lines(read_functional("  --mlm-probability: 0.3\n")).find("masked language model"),
            std::string::npos);
}

TEST(Bert, HasNoWindowOfAttention) {
  const std::string window = "  --window-size: 64,64\n";
  EXPECT_NE(
      refused_lines(read_functional("  --bert-no-binary-head: true\n" + window)).find("--window-size: an encoder"),
      std::string::npos);
  const Report decoder = read_functional(window);
  EXPECT_EQ(refused_lines(decoder), "");
  EXPECT_EQ(decoder.whole("model.window_size"), 65) << "the causal mask leaves the tokens before";
}

}  // namespace
}  // namespace foretoken::io::launch::megatron

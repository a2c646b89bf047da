// Tests layers of GPT-NeoX's forks and old versions.
#include "sim/io/import/launch/neox/read_neox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::neox {
namespace {

using testing::HasSubstr;

Report neox_with(const std::string& layer) {
  return read_test_launch(
      "{\"pipe-parallel-size\": 0, \"model-parallel-size\": 1, \"num-layers\": 24, \"hidden-size\": 2048,\n"
      " \"num-attention-heads\": 32, \"seq-length\": 4096, \"no-weight-tying\": true, \"precision\": \"bfloat16\",\n"
      " \"optimizer\": {\"type\": \"Adam\"}, \"train_micro_batch_size_per_gpu\": 2, " +
          layer + "}",
      "a.yml");
}

// 8 x 2048 / 3 = 5461, in steps of 256: the width of StableLM 2 1.6B.
TEST(NeoxMlp, OfALlamaBlockIsTwoThirdsWide) {
  for (const char* kind : {"\"mlp_type\": \"llama\"", "\"mlp_type\": \"gated\", \"mlp_multiple_of\": 256"}) {
    const Report report = neox_with(std::string("\"activation\": \"silu\", ") + kind +
                                    ", \"attention_head_type\": \"multihead\", \"use_flash_cross_entropy\": true, "
                                    "\"full_precision_lm_cross_entropy\": true");
    EXPECT_EQ(refused_lines(report), "") << kind;
    EXPECT_EQ(report.at("model.activation"), Json("swiglu")) << kind;
    EXPECT_EQ(report.whole("model.ffn_hidden_size"), 5632) << kind;
  }
  EXPECT_EQ(neox_with("\"activation\": \"gelu\", \"mlp_type\": \"llama\"").at("model.activation"), Json("geglu"));
  EXPECT_THAT(refused_lines(neox_with("\"activation\": \"silu\"")), HasSubstr("\"silu\" is not modelled"));
  EXPECT_THAT(refused_lines(neox_with("\"attention_head_type\": \"groupedquery\"")), HasSubstr("attention_head_type"));
}

}  // namespace
}  // namespace foretoken::io::launch::neox

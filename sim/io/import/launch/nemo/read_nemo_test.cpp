// Tests configurations of NeMo 1.
#include "sim/io/import/launch/nemo/read_nemo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::nemo {
namespace {

Report read_nemo_with(const std::string& trainer, const std::string& model) {
  return read_test_launch(
      "trainer: {precision: bf16" + trainer +
          "}\nmodel: {micro_batch_size: 1, global_batch_size: 64, num_layers: 24, hidden_size: 1024, "
          "num_attention_heads: 16, encoder_seq_length: 2048, transformer_engine: true" +
          model + "}\n",
      "gpt.yaml");
}

TEST(ReadNemo, Fp8CountsByEitherOfItsFormats) {
  const std::string nodes = ", devices: 8, num_nodes: 2";
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: false, fp8_hybrid: true").at("precision"), Json("fp8"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: true, fp8_hybrid: false").at("precision"), Json("fp8"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: false, fp8_hybrid: true").at("precision"), Json("bf16"));
  EXPECT_EQ(read_nemo_with(nodes, ", fp8: true, fp8_e4m3: false, fp8_hybrid: false").at("precision"), Json("bf16"));
}

// One node is Lightning's default; the command that starts a recipe states another number.
TEST(ReadNemo, NodesThatTheFileLeavesOutAreAskedFor) {
  EXPECT_EQ(read_nemo_with(", devices: 8, num_nodes: 2", "").whole("gpus"), 16);
  const Report report = read_nemo_with(", devices: 8", "");
  EXPECT_FALSE(report.has("gpus"));
  EXPECT_TRUE(std::ranges::any_of(report.asked, [](const Asked& one) {
    return one.key == "gpus" && one.because.find("trainer.num_nodes") != std::string::npos;
  }));
}

TEST(ReadNemo, ItsAdaptersHaveDefaults) {
  const Report report = read_nemo_with(
      ", devices: 8, num_nodes: 1",
      ", peft: {peft_scheme: lora, lora_tuning: {alpha: 32, layer_selection: null}, p_tuning: {virtual_tokens: 10}}");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("training.rank"), 32);
  EXPECT_EQ(report.at("training.targets"), Json::array({"linear_qkv"}));
  const Report none = read_nemo_with(", devices: 8, num_nodes: 1", ", peft: {peft_scheme: null, lora_tuning: {a: 3}}");
  EXPECT_EQ(refused_lines(none), "");
  EXPECT_FALSE(none.has("training"));
}

TEST(ReadNemo, ASiluWithoutAGateIsTakenAsGelu) {
  const Report report = read_nemo_with(", devices: 8, num_nodes: 1", ", activation: silu");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("model.activation"));
}

}  // namespace
}  // namespace foretoken::io::launch::nemo

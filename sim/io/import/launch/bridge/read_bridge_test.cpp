// Tests configurations of Megatron-Bridge.
#include "sim/io/import/launch/bridge/read_bridge.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::bridge {
namespace {

Report read_overrides(const std::string& sections) {
  return read_test_launch(
      "train: {micro_batch_size: 1, global_batch_size: 8}\nmodel: {tensor_model_parallel_size: 1, "
      "pipeline_model_parallel_size: 1, seq_length: 2048}\n" +
          sections,
      "overrides.yaml");
}

// comm_overlap is written over ddp at the start; its nulls are not.
TEST(ReadBridge, OverlapsOfItsOwnSectionCount) {
  const Report on = read_overrides("comm_overlap: {overlap_grad_reduce: true, overlap_param_gather: false}\n");
  EXPECT_EQ(on.at("overlap.grad_reduce"), Json(true));
  EXPECT_EQ(on.at("overlap.param_gather"), Json(false));
  const Report off = read_overrides(
      "ddp: {overlap_grad_reduce: true, use_distributed_optimizer: true}\ncomm_overlap: {overlap_grad_reduce: "
      "false}\n");
  EXPECT_EQ(off.at("overlap.grad_reduce"), Json(false));
  const Report kept = read_overrides("ddp: {overlap_grad_reduce: true}\ncomm_overlap: {overlap_grad_reduce: null}\n");
  EXPECT_EQ(kept.at("overlap.grad_reduce"), Json(true));
}

TEST(ReadBridge, TheOptimizerStatesThePrecisionWhereNothingElseDoes) {
  const auto precision = [](const std::string& rest) {
    return read_test_launch(
               "train: {train_iters: 10, global_batch_size: 8, micro_batch_size: 1}\n"
               "model: {num_layers: 2, hidden_size: 64, num_attention_heads: 4, seq_length: 128}\n" +
                   rest,
               "a.yaml")
        .at("precision");
  };
  EXPECT_EQ(precision("optimizer: {bf16: true}\n"), Json("bf16"));
  EXPECT_EQ(precision("optimizer: {bf16: true}\nmixed_precision: fp16_mixed\n"), Json("fp16"));
}

TEST(ReadBridge, AdaptersAreThoseOfItsLora) {
  const Report report = read_overrides("peft: {dim: 8, alpha: 16, target_modules: [linear_qkv, linear_fc2]}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 8);
  EXPECT_EQ(report.at("training.targets"), Json::array({"linear_qkv", "linear_fc2"}));
  const Report plain = read_overrides("peft: {_target_: megatron.bridge.peft.lora.LoRA}\n");
  EXPECT_FALSE(plain.has("training.rank")) << "it is asked for";
  EXPECT_EQ(plain.at("runtime"), Json("megatron-lora"));
  EXPECT_NE(refused_lines(read_overrides("peft: {_target_: megatron.bridge.peft.dora.DoRA, dim: 8}\n")).find("DoRA"),
            std::string::npos);
  EXPECT_NE(refused_lines(read_overrides("peft: {block_size: 32}\n")).find("OFT"), std::string::npos);
  EXPECT_FALSE(read_overrides("peft: null\n").has("training"));
}

}  // namespace
}  // namespace foretoken::io::launch::bridge

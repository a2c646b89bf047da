// Tests of TRL's defaults, which depend on its version.
#include "sim/io/import/launch/tuning/trl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

Report read_sft(const std::string& flags) {
  return read_test_launch(
      "CUDA_VISIBLE_DEVICES=0 python trl/scripts/sft.py --model_name_or_path Qwen/Qwen3-1.7B --dataset_name d/e "
      "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --output_dir out " +
          flags,
      "run.sh");
}

bool asks_about_recomputing(const Report& report) {
  return std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "recompute.granularity"; });
}

// trl/trainer/sft_config.py since 0.22: gradient_checkpointing and bf16 are true, max_length is 1024.
TEST(Trl, TheDefaultsOfRecentVersions) {
  const Report report = read_sft("--dtype bfloat16 --packing True");
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(report.whole("batch.sequence_length"), 1024);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_FALSE(asks_about_recomputing(report));
  const Report named = read_sft("--loss_type dft --max_length 4096 --fp16");
  EXPECT_EQ(named.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(named.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(named.at("precision"), Json("fp16")) << "bf16 is the default without it only";
  EXPECT_EQ(refused_lines(read_sft("--loss_type chunked_nll")), "") << "the plain loss by parts";
  EXPECT_EQ(read_sft("--dtype bfloat16 --gradient_checkpointing False").at("recompute.granularity"), Json("none"));
  EXPECT_EQ(read_sft("--dtype float32 --bf16 False").at("precision"), Json()) << "it is asked for";
}

TEST(Trl, TheDefaultsOfEarlierVersions) {
  const Report report = read_sft("--max_seq_length 2048 --torch_dtype bfloat16");
  EXPECT_EQ(report.at("recompute.granularity"), Json("none"));
  EXPECT_FALSE(asks_about_recomputing(report));
  EXPECT_FALSE(read_sft("--max_seq_length 2048").has("precision"));
}

TEST(Trl, AnOpenVersionLeavesRecomputingOpen) {
  const Report open = read_sft("--max_length 2048 --bf16");
  EXPECT_TRUE(asks_about_recomputing(open));
  EXPECT_FALSE(open.has("recompute"));
  const Report stated = read_sft("--max_length 2048 --bf16 --gradient_checkpointing");
  EXPECT_FALSE(asks_about_recomputing(stated));
  EXPECT_EQ(stated.at("recompute.granularity"), Json("full"));
}

// trl/trainer/model_config.py: dtype was called torch_dtype before 0.23.
TEST(Trl, DtypeIsTheTypeOfTheWeights) {
  const Report old = read_sft("--torch_dtype bfloat16 --bf16 --gradient_checkpointing");
  const Report renamed = read_sft("--dtype bfloat16 --bf16 --gradient_checkpointing");
  ASSERT_TRUE(old.has("precision_recipe"));
  EXPECT_EQ(renamed.at("precision_recipe"), old.at("precision_recipe"));
  EXPECT_EQ(read_sft("--dtype bfloat16").at("precision_recipe"), old.at("precision_recipe"));
  EXPECT_FALSE(read_sft("--dtype float32").has("precision_recipe"));
}

TEST(Trl, AFileOfItsArguments) {
  const auto read = [](const std::string& more) {
    return read_test_launch(
        "model_name_or_path: Qwen/Qwen3-1.7B\nper_device_train_batch_size: 2\npacking_strategy: wrapped\n" + more,
        "sft.yaml");
  };
  const Report recent = read("dtype: bfloat16\nmax_length: 512\n");
  EXPECT_EQ(recent.at("recompute.granularity"), Json("full"));
  EXPECT_EQ(recent.whole("batch.sequence_length"), 512);
  EXPECT_TRUE(recent.has("precision_recipe"));
  EXPECT_TRUE(asks_about_recomputing(read("max_length: 512\nbf16: true\n")));
  EXPECT_FALSE(asks_about_recomputing(read("max_seq_length: 512\nbf16: true\n")));
  const Report factory = read("finetuning_type: full\nstage: sft\ncutoff_len: 512\nbf16: true\n");
  EXPECT_FALSE(asks_about_recomputing(factory)) << "LLaMA-Factory has defaults of its own";
}

}  // namespace
}  // namespace foretoken::io::launch::tuning

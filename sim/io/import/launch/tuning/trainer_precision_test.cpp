// Tests the types of weights and states that recipes of tuning state.
#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

constexpr const char* kStart =
    "torchrun --nproc_per_node 2 train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 "
    "--max_seq_length 2048 ";

Report read_flags(const std::string& flags) { return read_test_launch(kStart + flags, "train.sh"); }

void expect_pure(const Report& report, bool pure) {
  EXPECT_EQ(report.has("precision_recipe.weights"), pure);
  if (!pure) return;
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.at("precision_recipe.weights"), Json("bf16"));
  EXPECT_EQ(report.at("precision_recipe.gradients"), Json("bf16"));
  EXPECT_EQ(report.at("precision_recipe.master"), Json("none"));
}

TEST(TrainerPrecision, WeightsThatAreLoadedInBf16HaveNoCopyInFp32) {
  for (const char* flags : {"--torch_dtype bfloat16", "--bf16 --torch_dtype bfloat16", "--bf16 --dtype bfloat16"}) {
    SCOPED_TRACE(flags);
    const Report report = read_flags(flags);
    expect_pure(report, true);
    EXPECT_EQ(report.at("precision_recipe.moments"), Json("bf16"));
  }
}

TEST(TrainerPrecision, StatesOf8BitsStayStates) {
  const Report report = read_flags("--torch_dtype bfloat16 --optim adamw_bnb_8bit");
  expect_pure(report, true);
  EXPECT_EQ(report.whole("precision_recipe.moments"), 1);
}

// DeepSpeed, FSDP and autocast keep weights of fp32; frozen weights have no states.
TEST(TrainerPrecision, OtherTrainingsKeepOne) {
  for (const char* flags :
       {"--bf16", "--dtype bfloat16", "--bf16 --torch_dtype float32", "--torch_dtype bfloat16 --deepspeed zero2.json",
        "--bf16 --torch_dtype bfloat16 --fsdp full_shard", "--torch_dtype bfloat16 --use_peft --lora_r 8"}) {
    SCOPED_TRACE(flags);
    expect_pure(read_flags(flags), false);
  }
}

TEST(TrainerPrecision, FsdpAloneKeepsWeightsInBf16) {
  for (const char* flags : {"--torch_dtype bfloat16 --fsdp \"full_shard auto_wrap\"",
                            "--torch_dtype bfloat16 --fsdp shard_grad_op --bf16 False"}) {
    SCOPED_TRACE(flags);
    expect_pure(read_flags(flags), true);
  }
}

TEST(TrainerPrecision, AutomaticTypesAreAssumed) {
  const auto lines = [](const Report& report) {
    return std::ranges::count_if(report.assumed, [](const Assumed& one) {
      return one.key == "torch_dtype" && one.because.find("config.json") != std::string::npos;
    });
  };
  const Report report = read_flags("--bf16 --torch_dtype auto");
  expect_pure(report, false);
  EXPECT_EQ(lines(report), 1);
  EXPECT_EQ(lines(read_flags("--bf16 --torch_dtype bfloat16")), 0);
  EXPECT_EQ(lines(read_flags("--bf16 --torch_dtype auto --deepspeed zero2.json")), 0) << "a copy in any case";
}

TEST(TrainerPrecision, AxolotlLoadsTheTypeThatItTrainsIn) {
  const std::string recipe = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: auto\n";
  expect_pure(read_test_launch(recipe, "recipe.yaml"), true);
  expect_pure(read_test_launch(recipe + "deepspeed: zero2.json\n", "recipe.yaml"), false);
  expect_pure(read_test_launch(recipe + "adapter: lora\nlora_r: 8\n", "recipe.yaml"), false);
}

TEST(TrainerPrecision, TorchtuneShardsWeightsOfItsType) {
  const std::string recipe =
      "# tune run --nproc_per_node 4 full_finetune_distributed --config a\n"
      "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\n"
      "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 4096\n"
      "batch_size: 2\noptimizer:\n  _component_: torch.optim.AdamW\n";
  const Report report = read_test_launch(recipe + "dtype: bf16\n", "recipe.yaml");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  expect_pure(report, true);
}

}  // namespace
}  // namespace foretoken::io::launch::tuning

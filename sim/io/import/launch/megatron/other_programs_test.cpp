// Tests programs that share names of flags with Megatron-LM.
#include "sim/io/import/launch/megatron/other_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

using testing::HasSubstr;

std::string complaint_about(const std::string& text) {
  Findings findings;
  (void)read_launch_text(text + "\n", "train.sh", {}, findings);
  return lines_of(findings.complaints);
}

constexpr const char* kBuildsItsModel = "builds its model by flags";

TEST(OtherPrograms, ThatBuildTheirModelByFlagsAreNoMegatron) {
  for (const char* words :
       {"torchrun --nproc_per_node 8 train.py --num_layers 24 --hidden_width 1024 --num_heads 16 --train_batch_size 1",
        "torchrun --nproc_per_node 8 train.py --num_layers=24 --num_heads=16 --sharding_strategy=full",
        "deepspeed pipe.py --deepspeed_config ds.json --num_layers 24 --hidden_size 1024 --num_attention_heads 16 "
        "--pipe-parallel-size 2",
        "A=(--num_layers=24 --num_heads=16 --fsdp)\nTRAINING_ARGS=(${A[@]})\nsrun torchrun train.py "
        "${TRAINING_ARGS[@]}"})
    EXPECT_THAT(complaint_about(words), HasSubstr(kBuildsItsModel)) << words;
}

TEST(OtherPrograms, OfMegatronStay) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 train.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length "
      "512 "
      "--max-position-embeddings 512 --micro-batch-size 1 --bf16",
      "train.sh");
  EXPECT_EQ(report.framework, "Megatron-LM");
}

TEST(OtherPrograms, AHelperBesideStoredArgumentsTakesNothingAway) {
  const std::string stored =
      "MODEL_ARGS=\"--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 512\"\n";
  for (const char* helper : {"python tools/prep.py --update-freq 2", "litgpt download x"})
    EXPECT_EQ(read_test_launch(stored + helper, "train.sh").framework, "Megatron-LM") << helper;
}

TEST(OtherPrograms, WeightsAndEntryPointsBuildNoModelByFlags) {
  for (const char* words : {"pretrain_gpt.py", "train.py --model_name_or_path gpt2", "train.py --base-model gpt2"})
    EXPECT_THAT(complaint_about(std::string("torchrun --nproc_per_node 8 ") + words +
                                " --num_layers 24 --hidden_size 1024 --num_heads 16 --fsdp --bf16"),
                testing::Not(HasSubstr(kBuildsItsModel)))
        << words;
}

TEST(OtherPrograms, FlagsThatOnlyMegatronHasDecideBesideTheNameOfAModel) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 train.py --use-checkpoint-args --pipeline-model-parallel-size 2 "
      "--model-name-or-path Qwen/Qwen2-7B --micro-batch-size 1 --global-batch-size 8 --seq-length 4096 --lr 1e-5 "
      "--bf16",
      "train.sh");
  EXPECT_EQ(report.framework, "Megatron-LM");
}

TEST(OpenFlags, TheCheckpointDecidesWhatNoFlagOfTheModelStates) {
  const std::string command =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--seq-length 4096 --max-position-embeddings 4096 --vocab-size 128256 --micro-batch-size 1 --global-batch-size 8 "
      "--bf16 --load checkpoint";
  EXPECT_TRUE(read_test_launch(command, "train.sh").complete());
  const Report report = read_test_launch(command + " --use-checkpoint-args", "train.sh");
  for (const char* key :
       {"model.activation", "model.num_query_groups", "model.add_bias_linear", "model.normalization"}) {
    EXPECT_FALSE(report.has(key)) << key;
    EXPECT_TRUE(report.asks(key)) << key;
  }
  EXPECT_EQ(report.whole("model.kv_channels"), 128) << "the hidden size over the heads, which both stand in the flags";
  EXPECT_TRUE(std::ranges::any_of(
      report.assumed, [](const Assumed& one) { return one.because.find("heads of 128") != std::string::npos; }));
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr", "model=llama-3-8b"};
  EXPECT_TRUE(read_launch_text(command + " --use-checkpoint-args\n", "train.sh", launch, findings).complete());
}

TEST(OpenFlags, HeadsThatNoFlagStatesAreAskedFor) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 512 --seq-length 512 "
      "--max-position-embeddings 512 --micro-batch-size 1 --bf16",
      "train.sh");
  EXPECT_TRUE(report.asks("model.num_attention_heads"));
}

TEST(OtherPrograms, FusedAttentionHasNoFp32) {
  const auto read = [](const std::string& words) {
    return read_test_launch(
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 512 "
        "--num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --vocab-size 51200 "
        "--micro-batch-size 1 --global-batch-size 8 " +
            words,
        "train.sh");
  };
  for (const char* const words : {"", "--attention-backend auto"}) {
    EXPECT_EQ(read(words).at("attention"), Json("unfused")) << words;
    EXPECT_TRUE(read(words).complete()) << words;
    EXPECT_EQ(read(std::string(words) + " --bf16").at("attention"), Json("flash")) << words;
  }
  EXPECT_EQ(read("--transformer-impl transformer_engine").at("attention"), Json("unfused"));
  Findings findings;
  Launch launch;
  launch.sets = {"precision=tf32"};
  EXPECT_EQ(read_launch_text("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 512 "
                             "--num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 "
                             "--vocab-size 51200 --micro-batch-size 1 --global-batch-size 8\n",
                             "train.sh", launch, findings)
                .at("attention"),
            Json("unfused"));
  EXPECT_EQ(read("--attention-backend flash").at("attention"), Json("flash"))
      << "a stated kernel stays, and is refused";
}

// Without a value the flag has no default: argparse stops.
TEST(OpenFlags, HaveNoDefaults) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
      "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --bf16 --recompute-granularity $HOW "
      "--normalization $NORM --optimizer $O --transformer-impl $T",
      "train.sh");
  for (const char* key : {"recompute.granularity", "model.normalization", "optimizer.name", "attention"}) {
    EXPECT_FALSE(report.has(key)) << key;
    EXPECT_TRUE(std::ranges::any_of(report.asked, [&](const Asked& one) { return one.key == key; })) << key;
  }
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0) << "another flag decides";
}

TEST(OpenFlags, AMethodOfRecomputingHasNoDefault) {
  const Report report = read_test_launch(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
      "--seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --bf16 --recompute-granularity full "
      "--recompute-method $M --recompute-num-layers $N",
      "train.sh");
  EXPECT_EQ(report.at("recompute.granularity"), Json("full"));
  for (const char* key : {"recompute.method", "recompute.layers"}) {
    EXPECT_FALSE(report.has(key)) << key;
    EXPECT_TRUE(std::ranges::any_of(report.asked, [&](const Asked& one) { return one.key == key; })) << key;
  }
}

TEST(OtherPrograms, TheLauncherOfBenchmarkRecipesIsNamed) {
  EXPECT_THAT(complaint_about("llmb-run submit -w pretrain_llama3.1 -s 405b --dtype fp8 --scale 256"),
              HasSubstr("the script starts llmb-run"));
}

}  // namespace
}  // namespace foretoken::io::launch::megatron

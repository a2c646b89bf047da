// Tests the heads of attention: BigCode's kinds of heads, with its scripts for Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

constexpr const char* kGroups = "model.num_query_groups";

Report with_heads(const std::string& flags) {
  return read_test_launch(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 2 --global-batch-size 64 "
      "--vocab-size 49152 --bf16 " +
          flags,
      "train.sh");
}

TEST(HeadRules, AKindOfHeadsGivesTheGroups) {
  EXPECT_EQ(with_heads("--attention-head-type multiquery").whole(kGroups), 1);
  EXPECT_EQ(with_heads("--attention-head-type multihead").whole(kGroups), 16);
  EXPECT_EQ(with_heads("--attention-head-type multiquery --n-head-kv 8").whole(kGroups), 8) << "of Falcon 40B";
  EXPECT_EQ(with_heads("").whole(kGroups), 16);
  EXPECT_THAT(refused_lines(with_heads("--attention-head-type grouped")),
              HasSubstr("--attention-head-type: expected multihead or multiquery, found \"grouped\""));
}

TEST(HeadRules, TheForkWithKindsOfHeadsIsOlderThanMegatronCore) {
  const Report report = with_heads("--attention-head-type multiquery");
  EXPECT_EQ(report.at("runtime"), "megatron-2022");
  EXPECT_EQ(report.at("attention"), "unfused");
  EXPECT_EQ(with_heads("--attention-head-type multiquery --use-flash-attn").at("attention"), "flash");
}

// The program and its launcher stand in texts, which a shell on each node puts together.
TEST(HeadRules, AScriptOfBigCodeBecomesAScenario) {
  const Report report = read_test_launch(R"(#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1   # one launcher a node
#SBATCH --gres=gpu:4
#SBATCH --output=/logs/%x-%j.out
set -x -e
GPUS_PER_NODE=4
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
NNODES=$SLURM_NNODES
LOG_PATH=/logs/main.txt
GPT_ARGS="\
    --tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --sequence-parallel \
    --num-layers 12 --hidden-size 3072 --num-attention-heads 24 --attention-head-type multiquery \
    --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 \
    --fp16 --use-flash-attn --fim-rate 0.5 --use-distributed-optimizer --valid-num-workers 0 --vocab-size 49152 \
"
CMD=" \
    /code/pretrain_gpt.py $GPT_ARGS --tokenizer-type TokenizerFromFileWithFIM --tokenizer-file tokenizer.json \
    --train-weighted-split-paths-path train.txt --structured-logs --structured-logs-dir /logs \
    --wandb-entity-name someone --wandb-project-name code \
    "
export LAUNCHER="python -u -m torch.distributed.run \
    --nproc_per_node $GPUS_PER_NODE --nnodes $NNODES --rdzv_endpoint $MASTER_ADDR:6000 --rdzv_backend c10d \
    --max_restarts 0 --tee 3 \
    "
echo $CMD
clear; srun --wait=60 --jobid $SLURM_JOB_ID bash -c "$LAUNCHER --node_rank \$SLURM_PROCID: $CMD" 2>&1 | tee $LOG_PATH
)",
                                         "code.slurm");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.complete()) << report.json().dump();
  EXPECT_EQ(report.whole("gpus"), 32);
  EXPECT_EQ(report.whole(kGroups), 1);
  EXPECT_EQ(report.at("model.position_embedding_type"), "learned_absolute");
  EXPECT_EQ(report.at("precision_recipe.gradients"), "fp16");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 1);
  const auto taken_by_name = [](const Assumed& one) { return one.because.find("not known") != std::string::npos; };
  EXPECT_TRUE(std::ranges::none_of(
      report.assumed, [&](const Assumed& one) { return one.key.starts_with("--structured") && taken_by_name(one); }));
}

}  // namespace
}  // namespace foretoken::io::launch

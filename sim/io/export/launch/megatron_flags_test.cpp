// Tests the flags of experts, latent attention, precision and graphs. The other flags are tested on the program's
// output.
#include "sim/io/export/launch/megatron_flags.h"

#include <gmock/gmock.h>

namespace foretoken::io {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Not;
using testing::StartsWith;

TEST(MegatronCommand, ExpertsAndLatents) {
  job::Job job;
  job.model.layers = 6;
  job.model.experts =
      model::Experts{.count = 64, .per_token = 6, .width = 1408, .shared_width = 2816, .dense_first = 1};
  job.model.latent = model::LatentAttention{.kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  job.model.prediction_layers = 1;
  job.gpus = 8;
  job.parallelism.data = job.parallelism.expert = 8;
  job.routing.capacity_factor = 1.25;
  EXPECT_THAT(
      megatron_command(job),
      AllOf(Contains("--num-experts 64"), Contains("--moe-router-topk 6"), Contains("--moe-ffn-hidden-size 1408"),
            Contains("--moe-layer-freq \"([0]*1+[1]*5)\""), Contains("--expert-model-parallel-size 8"),
            Contains("--expert-tensor-parallel-size 1"), Contains("--moe-token-dispatcher-type alltoall"),
            Contains("--moe-expert-capacity-factor 1.25"), Contains("--multi-latent-attention")));
  EXPECT_THAT(megatron_command(job),
              AllOf(Contains("--kv-lora-rank 512"), Contains("--v-head-dim 128"), Contains("--mtp-num-layers 1"),
                    Not(Contains(StartsWith("--q-lora-rank"))), Not(Contains(StartsWith("--kv-channels")))));
  job.routing.dispatcher = model::Dispatcher::kHybridEp;
  EXPECT_THAT(megatron_command(job), Contains("--moe-flex-dispatcher-backend hybridep"));
  EXPECT_THAT(megatron_command(job), Not(Contains("--moe-router-force-load-balancing")));
  job.routing.imbalance = 1;
  EXPECT_THAT(megatron_command(job), Contains("--moe-router-force-load-balancing"));
  EXPECT_THAT(megatron_command({}), Not(Contains(StartsWith("--moe"))));
}

TEST(MegatronCommand, StatedLayersAreALayout) {
  job::Job job;
  job.model.layers = 9;
  job.model.prediction_layers = 1;
  job.parallelism.pipeline = job.parallelism.virtual_pipeline = 2;
  EXPECT_THAT(megatron_command(job), Not(Contains(StartsWith("--pipeline-model-parallel-layout"))));
  job.parallelism.layers_per_stage = {3, 2, 3, 1};
  EXPECT_THAT(megatron_command(job), AllOf(Contains("--pipeline-model-parallel-layout \"Et*3|t*2|t*3|t*1m*1L\""),
                                           Not(Contains(StartsWith("--num-virtual-stages")))));
  job.parallelism.layers_per_stage = {3, 3, 3, 0};
  EXPECT_THAT(megatron_command(job), Contains("--pipeline-model-parallel-layout \"Et*3|t*3|t*3|m*1L\""));
}

TEST(MegatronCommand, PrecisionFollowsTheRecipe) {
  job::Job job;
  job.optimizer.zero_stage = 1;
  job.recipe.reduce_bytes = 2;
  EXPECT_THAT(megatron_command(job), Not(Contains("--grad-reduce-in-bf16"))) << "it would keep 16 bits, too";
  EXPECT_THAT(megatron_remarks(job), Contains(StartsWith("Megatron-LM reduces gradients as it keeps them")));
  job.recipe.gradient_bytes = 2;
  EXPECT_THAT(megatron_command(job), Contains("--grad-reduce-in-bf16"));
  EXPECT_THAT(megatron_command(job), Not(Contains("--use-precision-aware-optimizer")));
  job.recipe.moment_bytes = 4;
  EXPECT_THAT(megatron_command(job), AllOf(Contains("--use-precision-aware-optimizer"),
                                           Contains("--exp-avg-dtype bf16"), Contains("--exp-avg-sq-dtype bf16")));
  job.cuda_graphs = job::CudaGraphs::kFull;
  EXPECT_THAT(megatron_command(job),
              AllOf(Contains("--cuda-graph-impl local"), Contains("--cuda-graph-scope full_iteration"),
                    Contains("--no-check-for-nan-in-loss-and-grad")));
  job.recompute.granularity = model::RecomputeGranularity::kFull;
  EXPECT_THAT(megatron_remarks(job), Contains(StartsWith("Megatron-LM takes CUDA graphs only")));
}

TEST(MegatronCommand, WhatNoFlagSaysIsARemark) {
  job::Job job;
  job.recompute = {.granularity = model::RecomputeGranularity::kSelective,
                   .block = false,
                   .layers = 1,
                   .modules = {.core_attention = false, .by_op = true}};
  EXPECT_THAT(megatron_command(job), Not(Contains(StartsWith("--recompute"))));
  EXPECT_THAT(megatron_remarks(job), Contains("Megatron-LM has no recompute module op: it is not written here"));
  job.recipe.fp8_attention = true;
  EXPECT_THAT(megatron_remarks(job), Contains(StartsWith("attention in fp8")));
}

}  // namespace
}  // namespace foretoken::io

// Tests the flags of experts and latent attention. The flags of dense jobs are tested on the program's output.
#include "sim/report/megatron.h"

#include <gmock/gmock.h>

namespace foretoken::report {
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
  EXPECT_THAT(megatron_command({}), Not(Contains(StartsWith("--moe"))));
}

}  // namespace
}  // namespace foretoken::report

// Compares peak memory of models with experts and latent attention with measured torch.cuda.max_memory_allocated.
//
// Source: SimuMax docs/b200/b200_release_v1.2_summary.json @ 4dcaae5: DeepSeek-V2 and V3 cut to 4 layers, the first of
// them dense, on 8 x B200, with a capacity factor of 1 and a distributed optimizer.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/step/memory/test_memory.h"

namespace foretoken::step {
namespace {

struct DeepSeekShape {
  std::int64_t hidden, ffn_hidden, vocabulary, experts, per_token, expert_width, shared_width;
};
constexpr DeepSeekShape kDeepSeekV2 = {5120, 12288, 102400, 160, 6, 1536, 3072};
constexpr DeepSeekShape kDeepSeekV3 = {7168, 18432, 129280, 256, 8, 2048, 2048};

struct ExpertRow {
  const char* name;
  DeepSeekShape shape;
  int pipeline, data, expert;
  std::uint32_t stage;
  double peak_mib;
};

constexpr ExpertRow kExpertRows[] = {{"V2, pipeline 2, first", kDeepSeekV2, 2, 4, 4, 0, 32342.5},
                                     {"V2, pipeline 2, last", kDeepSeekV2, 2, 4, 4, 1, 45774.7},
                                     {"V2, expert 8", kDeepSeekV2, 1, 8, 8, 0, 46726.8},
                                     {"V3, expert 8", kDeepSeekV3, 1, 8, 8, 0, 106801.8},
                                     {"V3, pipeline 2, first", kDeepSeekV3, 2, 4, 4, 0, 72948.2},
                                     {"V3, pipeline 2, last", kDeepSeekV3, 2, 4, 4, 1, 116736.8}};

model::Transformer deepseek(const DeepSeekShape& shape) {
  model::Transformer m{.layers = 4,
                       .hidden = shape.hidden,
                       .heads = 128,
                       .kv_heads = 128,
                       .head_dim = 192,
                       .ffn_hidden = shape.ffn_hidden,
                       .vocabulary = shape.vocabulary,
                       .norm = model::Norm::kRmsNorm,
                       .activation = model::Activation::kSwiGlu,
                       .positions = model::Positions::kRotary,
                       .tied_embeddings = false,
                       .linear_bias = false,
                       .qkv_bias = false};
  m.experts = model::Experts{.count = shape.experts,
                             .per_token = shape.per_token,
                             .width = shape.expert_width,
                             .shared_width = shape.shared_width,
                             .dense_first = 1};
  m.latent =
      model::LatentAttention{.query_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  return m;
}

job::Job job_of(const ExpertRow& row) {
  job::Job s;
  s.model = deepseek(row.shape);
  s.cluster.gpu.architecture = "blackwell";
  s.gpus = 8;
  s.parallelism.pipeline = row.pipeline;
  s.parallelism.data = row.data;
  s.parallelism.expert = row.expert;
  s.routing.capacity_factor = 1;
  s.batch = {.micro = 1, .global = 64, .sequence_length = 4096, .microbatch_group = {}};
  s.optimizer.zero_stage = 1;
  s.runtime.fused_cross_entropy = s.runtime.transformer_engine = s.runtime.fused_accumulation = true;
  return s;
}

TEST(PublishedMemory, PeaksOfModelsWithExperts) {
  for (const ExpertRow& row : kExpertRows) {
    const job::Job s = job_of(row);
    const Stage stage{row.stage};
    const PassMemory pass = pass_memory(s, stage, Chunk{0});
    const int alive = row.pipeline - stage.number();  // micro-batches in flight under 1F1B
    const double peak = (static_memory(s, stage).total() + alive * pass.stash + pass.transient).value();
    EXPECT_LT(std::abs(peak / (row.peak_mib * kMiB) - 1), 0.025)
        << row.name << ": measured " << row.peak_mib / 1024 << " GiB, predicted " << peak / kGiB;
  }
}

}  // namespace
}  // namespace foretoken::step

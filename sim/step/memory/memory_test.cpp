// Tests memory per stage against closed forms in symbols. The published peaks are in memory_published_test.cpp.
#include "sim/step/memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/model/counts/parameters.h"
#include "sim/step/memory/test_memory.h"

namespace foretoken::step {
namespace {

using model::RecomputeGranularity;

job::Job gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  job::Job s;
  s.model.layers = layers;
  s.model.hidden = hidden;
  s.model.heads = s.model.kv_heads = heads;
  s.model.head_dim = hidden / heads;
  s.model.ffn_hidden = 4 * hidden;
  s.model.vocabulary = 51200;
  s.model.max_positions = 2048;
  s.model.hidden_dropout = s.model.attention_dropout = 0.1;
  s.batch = {.micro = 1, .global = 8, .sequence_length = 2048};
  s.attention = model::AttentionKind::kUnfused;
  s.runtime.default_attention.kind = model::AttentionKind::kUnfused;
  s.cluster.gpu.architecture = "ampere";
  return s;
}

double total_state(const StaticMemory& memory) {
  return (memory.weights + memory.gradients + memory.optimizer).value();
}

TEST(Memory, MtNlgModelStateAndLayerBoundariesOfTheWholeModel) {
  job::Job s = gpt(105, 20480, 128);
  s.batch = {.micro = 1, .global = 1920, .sequence_length = 2048};
  s.recipe = {.extra_gradient_bytes = 2};  // 2 + 4 + 2 + 4 + 8 = 20 bytes
  const auto whole = whole_model_memory(s);
  EXPECT_EQ(whole.state.value(), 20 * model::total_parameters(s.model));
  EXPECT_GT(whole.state.value(), 10e12);
  EXPECT_EQ(std::round(whole.batch_boundaries.value() / 1e11) / 10, 16.9) << "terabytes";
  EXPECT_EQ(std::round(whole.microbatch_boundaries.value() / 1e8) / 10, 8.8) << "gigabytes";
}

TEST(Memory, StagesTogetherHoldTheModelAndItsReplicatedParts) {
  for (const int tensor : {1, 2, 8})
    for (const int pipeline : {1, 2, 4})
      for (const bool tied : {true, false}) {
        job::Job s = gpt(8, 1024, 16);
        s.model.tied_embeddings = tied;
        s.parallelism.tensor = tensor;
        s.parallelism.pipeline = pipeline;
        double held = 0;
        for (const Stage stage : ids<Stage>(pipeline)) held += tensor * local_stage_parameters(s, stage);
        const double h = 1024;
        const double whole =
            8 * model::replicated_layer_parameters(s.model) + 2048 * h + model::norm_parameters(s.model);
        const double table = tied && pipeline > 1 ? 51200 * h : 0;  // tied, but on two GPUs
        EXPECT_EQ(held, model::total_parameters(s.model) + (tensor - 1) * whole + table)
            << "t=" << tensor << " p=" << pipeline << " tied=" << tied;
      }
}

TEST(Memory, BytesPerParameterFollowRecipeAndZeroStage) {
  job::Job s = gpt(4, 1024, 16);
  s.parallelism.data = 4;
  s.parallelism.context = 2;
  const double n = local_stage_parameters(s, Stage{0}), ranks = 8;
  EXPECT_EQ(total_state(static_memory(s, Stage{0})), 18 * n);
  s.recipe.extra_gradient_bytes = 2;
  EXPECT_EQ(total_state(static_memory(s, Stage{0})), 20 * n);
  s.recipe.extra_gradient_bytes = 0;
  s.optimizer.zero_stage = 1;
  EXPECT_DOUBLE_EQ(total_state(static_memory(s, Stage{0})), (6 + 12 / ranks) * n);
  s.optimizer.zero_stage = 2;
  EXPECT_DOUBLE_EQ(total_state(static_memory(s, Stage{0})), (2 + 16 / ranks) * n + 4 * std::min(40e6, n));
  s.optimizer.zero_stage = 3;
  const double layer = model::layer_parameters(s.model);
  const double matrix = 4 * 1024 * 1024;
  EXPECT_DOUBLE_EQ(total_state(static_memory(s, Stage{0})), 18 / ranks * n + 2 * 2 * layer + 2 * matrix);
}

TEST(Memory, FsdpKeepsFp32ShardsAndGathersTwoLayersBesideTheRoot) {
  job::Job s = gpt(4, 1024, 16);
  s.parallelism.data = 8;
  s.runtime.fully_sharded = true;
  s.optimizer.zero_stage = 3;
  const double n = local_stage_parameters(s, Stage{0}), layer = model::layer_parameters(s.model), root = n - 4 * layer;
  const double gradients = 2 * root + (2 + 4) * layer;  // 16 bit until complete, cast to be reduced in 32 bit
  EXPECT_DOUBLE_EQ(total_state(static_memory(s, Stage{0})), 16 * n / 8 + 2 * (root + 2 * layer) + gradients);
  s.optimizer.zero_stage = 2;
  EXPECT_DOUBLE_EQ(total_state(static_memory(s, Stage{0})), 16 * n / 8 + 2 * n + gradients)
      << "parameters stay gathered";
}

TEST(Memory, FullRecomputationKeepsInputsAndBuildsOneGroupAgain) {
  job::Job s = gpt(12, 1024, 16);
  s.parallelism.tensor = 4;
  s.parallelism.pipeline = 3;  // the middle stage has neither embedding nor head
  const double tokens = 2048, h = 1024, a = 16, sequence = 2048, t = 4;
  const double whole = tokens * (10 * h + 24 * h / t + 5 * a * sequence / t), input = 2 * tokens * h;
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).stash.value(), 4 * whole);
  const double backward = pass_memory(s, Stage{1}, Chunk{0}).transient.value();

  s.recompute = job::Recompute();
  s.recompute.granularity = RecomputeGranularity::kFull;
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).stash.value(), 4 * input);
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).transient.value(), backward + whole - input);
  s.recompute.layers = 3;
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).stash.value(), 2 * input) << "groups of three and of one";
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).transient.value(), backward + 3 * whole - input);
  s.recompute.block = true;
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).stash.value(), 3 * input + whole);
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).transient.value(), backward + whole - input);
  s.recompute = job::Recompute();
  s.recompute.granularity = RecomputeGranularity::kSelective;
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{0}).stash.value(), 4 * tokens * (10 * h + 24 * h / t));
}

// A loop that drops gradients before each step: activations count beyond the gradients only, and the last layer's
// backward pass meets all gradients.
TEST(Memory, LongerSequencesNeedNoLessWhereGradientsAreDropped) {
  job::Job s = gpt(12, 1024, 16);
  s.batch.global = s.batch.micro * s.parallelism.data;
  s.runtime.drops_gradients = true;
  ASSERT_EQ(s.microbatches(), 1);
  double before = 0;
  for (const int tokens : {32, 64, 128, 256, 512, 1024, 2048}) {
    s.batch.sequence_length = tokens;
    const PassMemory pass = pass_memory(s, Stage{0}, Chunk{0});
    const double now = (pass.stash + pass.transient).value();
    EXPECT_GT(now, before) << tokens << " tokens";
    before = now;
  }
}

TEST(Memory, OnlyTheEndsOfThePipelineHoldEmbeddingAndLoss) {
  job::Job s = gpt(8, 1024, 16);
  s.parallelism.pipeline = 2;
  s.parallelism.virtual_pipeline = 2;
  const double layers = pass_memory(s, Stage{1}, Chunk{0}).stash.value();
  EXPECT_EQ(pass_memory(s, Stage{0}, Chunk{1}).stash.value(), layers);
  const double tokens = 2048, h = 1024, vocabulary = 51200;
  EXPECT_EQ(pass_memory(s, Stage{0}, Chunk{0}).stash.value() - layers, tokens * (8 + h))
      << "token ids and the dropout's mask";
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{1}).stash.value() - layers, tokens * (4 * h + 4 * vocabulary))
      << "norm and fp32 softmax";
  EXPECT_EQ(pass_memory(s, Stage{1}, Chunk{1}).transient.value(), 2 * tokens * vocabulary) << "the 16-bit logits";
  EXPECT_EQ(static_memory(s, Stage{0}).weights.value() - static_memory(s, Stage{1}).weights.value(), 2 * (2048 - 2) * h)
      << "positions on the first, the final norm on the last, the tied table on both";
}

// Fig. 1 of arXiv:2205.05198 again, this time through the stash of the first stage and the p micro-batches of 1F1B.
TEST(Memory, FirstStageOf1F1bHoldsAllLayersOnce) {
  job::Job s = gpt(128, 25600, 160);
  s.parallelism.tensor = 8;
  s.parallelism.pipeline = 64;
  s.parallelism.sequence_parallel = true;
  s.recompute = job::Recompute();
  s.recompute.granularity = RecomputeGranularity::kSelective;
  const double blocks = 64 * pass_memory(s, Stage{1}, Chunk{0}).stash.value();
  EXPECT_NEAR(blocks / (26.5625 * 1024 * 1024 * 1024), 1, 1e-12);
}

TEST(Memory, TransformerEngineKeepsOnePlaceholderForEachShapeOfWeight) {
  job::Job s = gpt(4, 1024, 16);
  const double without = static_memory(s, Stage{0}).other.value();
  s.runtime.transformer_engine = s.runtime.fused_accumulation = true;
  const double h = 1024;
  EXPECT_EQ(static_memory(s, Stage{0}).other.value() - without, 2 * (3 + 1 + 4 + 4) * h * h);
  s.model.kv_heads = 1;
  s.model.heads = s.model.ffn_hidden / s.model.head_dim - 2;  // now qkv is as wide as fc1
  const double attention = static_cast<double>(s.model.heads * s.model.head_dim);
  EXPECT_EQ(static_memory(s, Stage{0}).other.value() - without, 2 * h * (4 * h + 4 * h + attention)) << "three shapes";
  s.runtime.fused_accumulation = false;
  EXPECT_EQ(static_memory(s, Stage{0}).other.value(), without) << "a separate kernel adds: no placeholder";
}

TEST(Memory, Fp8HoldsACopyOfEveryWeightAndItsTranspose) {
  job::Job s = gpt(4, 1024, 16);
  const double without = static_memory(s, Stage{0}).weights.value();
  s.precision = Precision::kFp8;
  const double matrices = 4 * model::layer_matmul_parameters(s.model);
  EXPECT_EQ(static_memory(s, Stage{0}).weights.value() - without, 2 * matrices);
  s.recipe.weight_bytes = 1;
  EXPECT_EQ(static_memory(s, Stage{0}).weights.value(), without / 2 + matrices) << "held in 8 bit: the transpose only";
}

TEST(Memory, ASingleGpuHasNoNcclBuffers) {
  job::Job s = gpt(4, 1024, 16);
  const Bytes single = outside_allocator(s);
  s.gpus = 8;
  EXPECT_GT(outside_allocator(s), single);
}

TEST(Memory, NcclsBuffersOfANodeWithoutPeerAccessLieInTheHost) {
  job::Job s = gpt(4, 1024, 16);
  const Bytes single = outside_allocator(s);
  s.gpus = s.cluster.gpus_per_node = 8;
  s.cluster.peer_to_peer = false;
  EXPECT_EQ(outside_allocator(s), single);
  s.gpus = 16;
  EXPECT_GT(outside_allocator(s), single) << "two nodes";
}

}  // namespace
}  // namespace foretoken::step

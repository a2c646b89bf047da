// The ops of a layer: operations and bytes against their formulas, and where collectives stand.
#include "sim/model/layer_ops.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace foretoken::model {
namespace {

// GPT with h 64, 8 heads, f 256, dropout; s 32, b 2.
Transformer gpt() {
  Transformer model;
  model.layers = 2;
  model.hidden = 64;
  model.heads = model.kv_heads = 8;
  model.head_dim = 8;
  model.ffn_hidden = 256;
  model.vocabulary = 1000;
  model.max_positions = 32;
  model.hidden_dropout = model.attention_dropout = 0.1;
  return model;
}

LayerContext cut(int tensor, bool sequence_parallel, AttentionKind attention = AttentionKind::kUnfused) {
  LayerContext context;
  context.sequence = 32;
  context.micro_batch = 2;
  context.tensor = tensor;
  context.sequence_parallel = sequence_parallel;
  context.attention = attention;
  context.precision = Precision::kFp16;
  return context;
}

double gemm_flop(const OpList& ops) {
  double flop = 0;
  for (const LayerOp& op : ops)
    if (const auto* gemm = std::get_if<GemmShape>(&op.work)) flop += gemm->flop().value();
  return flop;
}

double memory_bytes(const OpList& ops, OpRole role) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (const auto* memory = std::get_if<MemoryBoundShape>(&op.work); memory != nullptr && op.role == role)
      bytes += memory->bytes.value();
  return bytes;
}

struct CollectiveCount {
  int blocking = 0, beside = 0;
  double payload = 0;
};

CollectiveCount collectives(const OpList& ops, CollectiveKind kind) {
  CollectiveCount count;
  for (const LayerOp& op : ops)
    if (const auto* collective = std::get_if<LayerCollective>(&op.work);
        collective != nullptr && collective->kind == kind && collective->group == CommGroup::kTensor) {
      ++(op.beside_next ? count.beside : count.blocking);
      count.payload += collective->payload.value();
    }
  return count;
}

TEST(LayerOps, OperationsOfALayerAreThoseOfItsParametersAndTheFullScoreMatrix) {
  const Transformer model = gpt();
  const double T = 64, s = 32, ad = 64;
  for (const int t : {1, 2, 4, 8}) {
    const double forward = (2 * T * layer_matmul_parameters(model) + 4 * T * s * ad) / t;
    EXPECT_DOUBLE_EQ(gemm_flop(layer_forward(model, cut(t, false))), forward);
    EXPECT_DOUBLE_EQ(gemm_flop(layer_backward(model, cut(t, t > 1))), 2 * forward);
    EXPECT_DOUBLE_EQ(gemm_flop(attention_core_forward(model, cut(t, false))), 4 * T * s * ad / t);
  }
}

TEST(LayerOps, StepOperationsOfTheModelAreTheSumOfItsOps) {
  const Transformer model = gpt();
  const LayerContext context = cut(1, false);
  Transformer padded = model;
  padded.vocabulary = padded_vocabulary(model, 1);
  const double layers = static_cast<double>(model.layers);
  const double step = layers * (gemm_flop(layer_forward(model, context)) + gemm_flop(layer_backward(model, context))) +
                      gemm_flop(head_forward(model, context)) + gemm_flop(head_backward(model, context));
  EXPECT_DOUBLE_EQ(step, 2 * model_flop_per_sequence(padded, 32).value()) << "two sequences a micro-batch";
}

TEST(LayerOps, FlashAttentionRunsHalfTheSquareAndNoScoreKernels) {
  const OpList ops = layer_forward(gpt(), cut(2, false, AttentionKind::kFlash));
  const auto flash =
      std::find_if(ops.begin(), ops.end(), [](const LayerOp& op) { return op.name == "flash attention"; });
  ASSERT_NE(flash, ops.end());
  EXPECT_DOUBLE_EQ(std::get<AttentionShape>(flash->work).flop().value(), 4.0 * 64 * 32 * 32 / 2);
  EXPECT_EQ(std::count_if(ops.begin(), ops.end(), [](const LayerOp& op) { return op.name == "softmax"; }), 0);
}

TEST(LayerOps, SoftmaxIsFusedForBlocksOfFourScoreMatrices) {
  // Eight heads, two sequences: four matrices on four tensor ranks, two on eight.
  const double scores = 2.0 * 32 * 32;
  const auto attention = [](int tensor, bool backward) {
    const LayerContext context = cut(tensor, false);
    return memory_bytes(backward ? layer_backward(gpt(), context) : layer_forward(gpt(), context), OpRole::kAttention);
  };
  const double copies = 4 * 64 * 64 / 8.0, concat = 4 * 3 * 64 * 64 / 8.0;
  EXPECT_DOUBLE_EQ(attention(4, false), 2 * scores * (4 + 5) + 2 * copies);
  EXPECT_DOUBLE_EQ(attention(8, false), scores * (6 + 8 + 9 + 8 + 6 + 5) + copies);
  EXPECT_DOUBLE_EQ(attention(8, true), scores * (6 + 12 + 9 + 8 + 6 + 5) + copies + concat);
}

TEST(LayerOps, CollectivesAreMegatrons) {
  const Transformer model = gpt();
  const double activation = 2.0 * 64 * 64;  // T h 16-bit
  const auto plain_forward = collectives(layer_forward(model, cut(4, false)), CollectiveKind::kAllReduce);
  EXPECT_EQ(plain_forward.blocking, 2);
  EXPECT_DOUBLE_EQ(plain_forward.payload, 2 * activation);
  EXPECT_EQ(collectives(layer_backward(model, cut(4, false)), CollectiveKind::kAllReduce).beside, 2);

  LayerContext early = cut(4, false);
  early.overlap_backward_collectives = false;
  EXPECT_EQ(collectives(layer_backward(model, early), CollectiveKind::kAllReduce).blocking, 2);

  // Sequence parallelism: 2 + 2 forward; backward 2 blocking gathers, 2 re-gathers and 2 reductions beside GEMMs.
  const LayerContext sp = cut(4, true);
  EXPECT_EQ(collectives(layer_forward(model, sp), CollectiveKind::kAllGather).blocking, 2);
  EXPECT_EQ(collectives(layer_forward(model, sp), CollectiveKind::kReduceScatter).blocking, 2);
  const auto gathers = collectives(layer_backward(model, sp), CollectiveKind::kAllGather);
  EXPECT_EQ(gathers.blocking, 2);
  EXPECT_EQ(gathers.beside, 2);
  EXPECT_EQ(collectives(layer_backward(model, sp), CollectiveKind::kReduceScatter).beside, 2);
  EXPECT_EQ(collectives(layer_forward(model, cut(1, false)), CollectiveKind::kAllReduce).blocking, 0);
}

TEST(LayerOps, UserbuffersExposeAQuarterOfAReduceScatter) {
  LayerContext context = cut(4, true);
  context.overlap_forward_collectives = true;
  const OpList ops = layer_forward(gpt(), context);
  EXPECT_EQ(collectives(ops, CollectiveKind::kAllGather).blocking, 0);
  const auto reduced = collectives(ops, CollectiveKind::kReduceScatter);
  EXPECT_EQ(reduced.beside, 2);
  EXPECT_EQ(reduced.blocking, 2);
  EXPECT_DOUBLE_EQ(reduced.payload, 2 * 2.0 * 64 * 64);
  double exposed = 0;
  for (const LayerOp& op : ops)
    if (op.name == "reduce-scatter output") exposed += std::get<LayerCollective>(op.work).payload.value();
  EXPECT_DOUBLE_EQ(exposed, reduced.payload / 4);
}

TEST(LayerOps, FewerKeyValueHeadsThanTensorRanksGatherTheWholeQkv) {
  Transformer model = gpt();
  model.kv_heads = 2;
  const auto gathered = collectives(layer_forward(model, cut(4, false)), CollectiveKind::kAllGather);
  EXPECT_EQ(gathered.blocking, 1);
  EXPECT_DOUBLE_EQ(gathered.payload, 2.0 * 64 * (8 + 2 * 2) * 8);
}

TEST(LayerOps, SequenceParallelismSplitsNormsAndDropout) {
  const Transformer model = gpt();
  const double whole = memory_bytes(layer_forward(model, cut(4, false)), OpRole::kNorm);
  EXPECT_DOUBLE_EQ(whole, 2 * 4 * 64 * 64) << "two norms read and write T h 16-bit elements";
  EXPECT_DOUBLE_EQ(memory_bytes(layer_forward(model, cut(4, true)), OpRole::kNorm), whole / 4);
}

TEST(LayerOps, ParallelResidualReducesOnce) {
  Transformer model = gpt();
  model.parallel_residual = true;
  EXPECT_EQ(collectives(layer_forward(model, cut(4, false)), CollectiveKind::kAllReduce).blocking, 1);
}

}  // namespace
}  // namespace foretoken::model

// Checks the ops of a layer: operations and bytes against their formulas, and the places of collectives.
#include "sim/model/layer_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/test_model.h"
#include "sim/model/transformer.h"

namespace foretoken::model {
namespace {

// The small model with dropout; the cut has s 32 and b 2.
Transformer gpt() {
  Transformer model = small_model();
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
        collective != nullptr && collective->kind == kind && collective->axis == Axis::kTensor) {
      ++(op.beside_next ? count.beside : count.blocking);
      count.payload += collective->payload.value();
    }
  return count;
}

TEST(LayerOps, OperationsOfALayerFollowFromItsParametersAndTheFullScoreMatrix) {
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

TEST(LayerOps, ElementsOf32BitsMoveTwiceAsMuch) {
  const Transformer model = gpt();
  const LayerContext half = cut(2, true);
  LayerContext whole = half;
  whole.precision = Precision::kTf32;
  const OpList forward = layer_forward(model, half), wide = layer_forward(model, whole);
  EXPECT_EQ(memory_bytes(wide, OpRole::kNorm), 2 * memory_bytes(forward, OpRole::kNorm));
  EXPECT_EQ(gemm_flop(wide), gemm_flop(forward));
  for (const LayerOp& op : wide)
    if (const auto* gemm = std::get_if<GemmShape>(&op.work)) {
      EXPECT_EQ(gemm->precision, Precision::kTf32) << op.name;
    }
  EXPECT_EQ(collectives(wide, CollectiveKind::kAllGather).payload,
            2 * collectives(forward, CollectiveKind::kAllGather).payload);
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

  // Sequence parallelism has 2 + 2 forward. Backward it has 2 blocking gathers, and 2 re-gathers and 2 reductions
  // beside GEMMs.
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
  context.tensor_overlap = TensorOverlap::kUserbuffers;
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

TEST(LayerOps, UserbuffersCutProductsAsTheirCollectiveArrivesOrLeaves) {
  LayerContext context = cut(4, true, AttentionKind::kFlash);
  std::map<std::string_view, int> pieces;
  const auto count = [&pieces](const OpList& ops) {
    pieces.clear();
    for (const LayerOp& op : ops)
      if (std::holds_alternative<GemmShape>(op.work)) pieces[op.name] = op.userbuffers.pieces;
  };
  using Pieces = std::map<std::string_view, int>;
  count(layer_forward(gpt(), context));
  EXPECT_EQ(pieces, (Pieces{{"qkv", 1}, {"projection", 1}, {"fc1", 1}, {"fc2", 1}})) << "collectives before and after";
  context.tensor_overlap = TensorOverlap::kUserbuffers;
  count(layer_forward(gpt(), context));
  EXPECT_EQ(pieces, (Pieces{{"qkv", 4}, {"projection", 4}, {"fc1", 4}, {"fc2", 4}}));
  count(layer_backward(gpt(), context));
  EXPECT_EQ(pieces["fc2 input gradient"], 4) << "its input arrives from four ranks";
  EXPECT_EQ(pieces["fc1 input gradient"], 1) << "another tensor is gathered beside it";
  EXPECT_EQ(pieces["fc1 weight gradient"], 1);
}

TEST(LayerOps, AFusedGemmAddsToTheMainGradientItself) {
  LayerContext context = cut(1, false);
  EXPECT_EQ(memory_bytes(layer_backward(gpt(), context), OpRole::kAccumulate), 0);
  context.fused_accumulation = false;
  EXPECT_EQ(memory_bytes(layer_backward(gpt(), context), OpRole::kAccumulate), 6 * layer_matmul_parameters(gpt()));
  for (const LayerOp& op : layer_backward(gpt(), context))
    if (const auto* gemm = std::get_if<GemmShape>(&op.work)) {
      EXPECT_EQ(gemm->adds_to_bytes, 0) << op.name;
    }
}

// Operations of fused attention, bytes of messages along the ring and bytes of all-to-all in a pass.
struct Exchanged {
  double flop = 0, messages = 0, traded = 0;
  int steps = 0;
};

Exchanged exchanged(const OpList& ops) {
  Exchanged sum;
  for (const LayerOp& op : ops) {
    if (const auto* attention = std::get_if<AttentionShape>(&op.work)) {
      sum.flop += attention->flop().value();
      ++sum.steps;
    } else if (const auto* message = std::get_if<RingMessage>(&op.work)) {
      sum.messages += message->payload.value();
    } else if (const auto* collective = std::get_if<LayerCollective>(&op.work);
               collective != nullptr && collective->kind == CollectiveKind::kAllToAll) {
      sum.traded += collective->payload.value();
    }
  }
  return sum;
}

TEST(LayerOps, ContextParallelRanksShareTheCausalSquareEvenly) {
  LayerContext context = cut(1, false, AttentionKind::kFlash);
  const double whole = exchanged(layer_forward(gpt(), context)).flop;
  for (const ContextExchange exchange :
       {ContextExchange::kRing, ContextExchange::kAllGather, ContextExchange::kAllToAll}) {
    context.context = 4;
    context.exchange = exchange;
    EXPECT_DOUBLE_EQ(exchanged(layer_forward(gpt(), context)).flop, whole / 4);
    EXPECT_DOUBLE_EQ(exchanged(layer_backward(gpt(), context)).flop, 2.5 * whole / 4);
  }
}

TEST(LayerOps, ARingPassesKeysAndValuesOnAllToAllTradesEverything) {
  LayerContext context = cut(2, false, AttentionKind::kFlash);
  context.context = 4;
  const double tokens = 64 / 4, width = 64 / 2;  // of one rank: T tokens, and h / t each of q, k and v
  const double keys_and_values = 2 * 2 * tokens * width;
  const Exchanged forward = exchanged(layer_forward(gpt(), context));
  EXPECT_EQ(forward.steps, 4);
  EXPECT_DOUBLE_EQ(forward.messages, 3 * keys_and_values);
  // Keys and values go round once more, and twice with the gradients gathered so far. Then the gradients go home.
  EXPECT_DOUBLE_EQ(exchanged(layer_backward(gpt(), context)).messages, (1 + 2 + 2 + 1) * keys_and_values);
  context.exchange = ContextExchange::kAllToAll;
  EXPECT_DOUBLE_EQ(exchanged(layer_forward(gpt(), context)).traded, 2 * 4 * tokens * width) << "q, k, v and output";
  EXPECT_DOUBLE_EQ(exchanged(layer_backward(gpt(), context)).traded, 2 * 4 * tokens * width);
}

double quantised_bytes(const OpList& ops) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (op.name == "quantise" || op.name == "transpose") bytes += std::get<MemoryBoundShape>(op.work).bytes.value();
  return bytes;
}

TEST(LayerOps, Fp8GathersHalfTheBytesAndScattersAll) {
  LayerContext context = cut(4, true, AttentionKind::kFlash);
  const auto gathered = [&] { return collectives(layer_backward(gpt(), context), CollectiveKind::kAllGather).payload; };
  const auto scattered = [&] {
    return collectives(layer_forward(gpt(), context), CollectiveKind::kReduceScatter).payload;
  };
  const double whole = gathered(), outputs = scattered();
  context.precision = Precision::kFp8;
  EXPECT_DOUBLE_EQ(gathered(), whole / 2);
  EXPECT_DOUBLE_EQ(scattered(), outputs);
}

TEST(LayerOps, QuantisationIsCountedByRecipe) {
  const double T = 64, t = 2, h = 64, f = 256, R = T / t;  // of a layer cut over two tensor ranks
  LayerContext context = cut(2, true, AttentionKind::kFlash);
  EXPECT_EQ(quantised_bytes(layer_forward(gpt(), context)), 0) << "16 bit";
  context.precision = Precision::kFp8;
  const double row_inputs = T * (h + f) / t, column_gradients = T * (3 * h + f) / t, shards = 2 * R * h;
  EXPECT_DOUBLE_EQ(quantised_bytes(layer_forward(gpt(), context)), 4 * row_inputs);
  const double transposed = 4 * 2 * T * h;  // the four gathered tensors: two inputs, two gradients
  EXPECT_DOUBLE_EQ(quantised_bytes(layer_backward(gpt(), context)), 4 * column_gradients + 3 * shards + transposed);
  context.fp8_recipe = Fp8Recipe::kMxfp8;
  const double scale = 1.0 / 32;  // of every element, along each dimension
  EXPECT_DOUBLE_EQ(quantised_bytes(layer_backward(gpt(), context)),
                   (4 + 2 * scale) * column_gradients + (3 + scale) * shards);
  context.fp8_recipe = Fp8Recipe::kTensorwise;
  EXPECT_DOUBLE_EQ(quantised_bytes(layer_forward(gpt(), context)), 6 * row_inputs + 5 * shards);
}

/// Kernels that arrange scales, and their bytes.
std::pair<int, double> arranged(const OpList& ops) {
  std::pair<int, double> found{0, 0};
  for (const LayerOp& op : ops)
    if (op.name == "arrange scales") {
      ++found.first;
      found.second += std::get<MemoryBoundShape>(op.work).bytes.value();
    }
  return found;
}

TEST(LayerOps, ScalesOfBlocksAreArrangedForBothOperandsOfEveryProduct) {
  const double T = 64, h = 64, f = 256;
  LayerContext context = cut(1, false, AttentionKind::kFlash);
  context.precision = Precision::kFp8;
  for (const Fp8Recipe none : {Fp8Recipe::kDelayed, Fp8Recipe::kTensorwise, Fp8Recipe::kBlockwise}) {
    context.fp8_recipe = none;
    EXPECT_EQ(arranged(layer_forward(gpt(), context)).first, 0);
  }
  context.fp8_recipe = Fp8Recipe::kMxfp8;
  // Products: qkv, projection, fc1, fc2.
  const double inputs = T * (3 * h + f), outputs = T * (5 * h + f), weights = 4 * h * h + 2 * h * f;
  const auto [forward, forward_bytes] = arranged(layer_forward(gpt(), context));
  EXPECT_EQ(forward, 4 * 2);
  EXPECT_DOUBLE_EQ(forward_bytes, 2.0 / 32 * (inputs + weights));
  const auto [backward, backward_bytes] = arranged(layer_backward(gpt(), context));
  EXPECT_EQ(backward, 4 * 2 * 2);
  EXPECT_DOUBLE_EQ(backward_bytes, 2.0 / 32 * (outputs + weights + outputs + inputs));
  context.precision = Precision::kNvfp4;
  EXPECT_DOUBLE_EQ(arranged(layer_forward(gpt(), context)).second, 2.0 / 16 * (inputs + weights));
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

TEST(LayerBackward, ThePartForTheWeightMultipliesAsMuchAsTheLinearsOfTheForwardPass) {
  for (const bool sequence_parallel : {false, true}) {
    double for_weight = 0, linears = 0;
    for (const LayerOp& op : layer_backward(gpt(), cut(2, sequence_parallel)))
      if (const auto* gemm = std::get_if<GemmShape>(&op.work); gemm != nullptr && op.part == BackwardPart::kWeight)
        for_weight += gemm->flop().value();
    for (const LayerOp& op : layer_forward(gpt(), cut(2, sequence_parallel)))
      if (const auto* gemm = std::get_if<GemmShape>(&op.work); gemm != nullptr && op.role == OpRole::kLinear)
        linears += gemm->flop().value();
    EXPECT_EQ(for_weight, linears);
  }
}

}  // namespace
}  // namespace foretoken::model

// Checks products cut into one part a rank: what moves, what is computed, and where nothing is cut.
#include "sim/model/micro_pipeline.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/model/test_model.h"
#include "sim/model/transformer.h"

namespace foretoken::model {
namespace {

constexpr double kTokens = 64, kHidden = 64;  // s b and h
constexpr double kActivation = 2 * kTokens * kHidden;

// The small model with a gated MLP; the cut has s 32 and b 2.
Transformer gated_llama() {
  Transformer model = small_model();
  model.activation = Activation::kSwiGlu;
  return model;
}

LayerContext cut_for(int tensor, TensorOverlap overlap, bool sequence_parallel = true) {
  LayerContext context;
  context.sequence = 32;
  context.micro_batch = 2;
  context.tensor = tensor;
  context.sequence_parallel = sequence_parallel;
  context.tensor_overlap = overlap;
  return context;
}

/// MovedAndComputed over a list of ops.
struct MovedAndComputed {
  int copies = 0, parts = 0, gathers = 0, reductions = 0, barriers = 0;
  double copied = 0, flop = 0, added_up = 0;
};

MovedAndComputed moved_and_computed(const OpList& ops) {
  MovedAndComputed sums;
  for (const LayerOp& op : ops) {
    if (const auto* copy = std::get_if<PeerCopy>(&op.work)) {
      ++sums.copies;
      sums.copied += copy->payload.value();
      EXPECT_TRUE(op.beside_next) << "a copy runs beside a product";
    }
    if (const auto* gemm = std::get_if<GemmShape>(&op.work)) {
      sums.parts += op.turns ? 1 : 0;
      sums.flop += gemm->flop().value();
    }
    if (const auto* collective = std::get_if<LayerCollective>(&op.work))
      ++(collective->kind == CollectiveKind::kAllGather ? sums.gathers : sums.reductions);
    if (op.name == "barrier") ++sums.barriers;
    if (op.name == "add up sums") sums.added_up += std::get<MemoryBoundShape>(op.work).bytes.value();
  }
  return sums;
}

TEST(MicroPipeline, AForwardPassMovesTheSameBytesAndComputesTheSameInParts) {
  for (const int tensor : {2, 4, 8}) {
    const MovedAndComputed plain =
        moved_and_computed(layer_forward(gated_llama(), cut_for(tensor, TensorOverlap::kNone)));
    const MovedAndComputed cut_up =
        moved_and_computed(layer_forward(gated_llama(), cut_for(tensor, TensorOverlap::kMicroPipeline)));
    EXPECT_EQ(plain.gathers + plain.reductions, 4);
    EXPECT_EQ(cut_up.gathers + cut_up.reductions, 0) << "qkv, projection, fc1 and fc2 are fused";
    EXPECT_EQ(cut_up.parts, 4 * tensor);
    EXPECT_EQ(cut_up.copies, 4 * (tensor - 1));
    EXPECT_EQ(cut_up.barriers, 2 * 3 + 2 * 2) << "those between parts belong to their copies";
    EXPECT_DOUBLE_EQ(cut_up.flop, plain.flop);
    EXPECT_DOUBLE_EQ(cut_up.copied, 4 * kActivation * (tensor - 1) / tensor) << "as a ring of NCCL";
    EXPECT_DOUBLE_EQ(cut_up.added_up, 2 * kActivation * (1 + 1.0 / tensor));
  }
}

TEST(MicroPipeline, ABackwardPassKeepsTheCollectivesThatBelongToNoSingleProduct) {
  const MovedAndComputed backward =
      moved_and_computed(layer_backward(gated_llama(), cut_for(4, TensorOverlap::kMicroPipeline)));
  EXPECT_EQ(backward.parts, 2 * 4) << "input gradients of projection and fc2";
  EXPECT_EQ(backward.copies, 2 * 3);
  EXPECT_EQ(backward.gathers, 2) << "the inputs of weight gradients";
  EXPECT_EQ(backward.reductions, 2) << "sums of the input gradients of several products";
  const MovedAndComputed plain = moved_and_computed(layer_backward(gated_llama(), cut_for(4, TensorOverlap::kNone)));
  EXPECT_DOUBLE_EQ(backward.flop, plain.flop);
}

TEST(MicroPipeline, TheHeadIsNotCompiled) {
  EXPECT_EQ(moved_and_computed(head_forward(gated_llama(), cut_for(4, TensorOverlap::kMicroPipeline))).copies, 0);
  EXPECT_EQ(moved_and_computed(head_backward(gated_llama(), cut_for(4, TensorOverlap::kMicroPipeline))).copies, 0);
}

TEST(MicroPipeline, NothingIsCutWithoutGathersOrWithScalesForBlocks) {
  LayerContext tensorwise = cut_for(4, TensorOverlap::kMicroPipeline);
  tensorwise.precision = Precision::kFp8;
  tensorwise.fp8_recipe = Fp8Recipe::kTensorwise;
  const MovedAndComputed fp8 = moved_and_computed(layer_forward(gated_llama(), tensorwise));
  EXPECT_EQ(fp8.copies, 4 * 3);
  EXPECT_DOUBLE_EQ(fp8.copied, (2 * 0.5 + 2) * kActivation * 3 / 4) << "inputs move in 8 bits, sums in 16";
  LayerContext blocks = tensorwise;
  blocks.fp8_recipe = Fp8Recipe::kMxfp8;
  for (const LayerContext& context :
       {cut_for(1, TensorOverlap::kMicroPipeline), cut_for(4, TensorOverlap::kMicroPipeline, false), blocks})
    EXPECT_EQ(moved_and_computed(layer_forward(gated_llama(), context)).parts, 0);
}

}  // namespace
}  // namespace foretoken::model

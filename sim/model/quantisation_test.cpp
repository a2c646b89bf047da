// Tests the bytes of quantising kernels by recipe, and the kernels that eager code runs apart.
#include "sim/model/quantisation.h"

#include <gtest/gtest.h>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"

namespace foretoken::model {
namespace {

LayerContext context_of(Precision precision, Fp8Recipe recipe, bool blackwell) {
  LayerContext context;
  context.precision = precision;
  context.fp8_recipe = recipe;
  context.reads_any_layout = blackwell;
  return context;
}

struct Bytes {
  double whole, norm, transpose;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};

Bytes bytes_of(const LayerContext& context) {
  const Cut cut(context);
  return {quantise_whole_bytes(cut), quantise_norm_bytes(cut), transpose_bytes(cut)};
}

TEST(Quantisation, ReadsOnceAndWritesEveryDirectionThatProductsRead) {
  using P = Precision;
  const double mx = 1 + 1.0 / 32, fp4 = 0.5 + 1.0 / 16;
  EXPECT_EQ(bytes_of(context_of(P::kFp8, Fp8Recipe::kDelayed, false)), (Bytes{4, 0, 2})) << "the norm writes 8 bit";
  EXPECT_EQ(bytes_of(context_of(P::kFp8, Fp8Recipe::kDelayed, true)), (Bytes{3, 0, 0})) << "no transposed copy";
  EXPECT_EQ(bytes_of(context_of(P::kFp8, Fp8Recipe::kTensorwise, false)), (Bytes{6, 5, 2})) << "looks for the scale";
  EXPECT_EQ(bytes_of(context_of(P::kFp8, Fp8Recipe::kTensorwise, true)), (Bytes{5, 5, 0}));
  EXPECT_EQ(bytes_of(context_of(P::kFp8, Fp8Recipe::kMxfp8, true)), (Bytes{2 + 2 * mx, 2 + 2 * mx, 0}));
  EXPECT_EQ(bytes_of(context_of(P::kNvfp4, Fp8Recipe::kDelayed, true)), (Bytes{4 + 2 * fp4, 4 + 2 * fp4, 0}));
  EXPECT_EQ(bytes_of(context_of(P::kBf16, Fp8Recipe::kDelayed, false)).norm, 0);
}

TEST(Quantisation, BlocksHaveProductsOfTheirOwn) {
  const auto products = [](Precision precision, Fp8Recipe recipe) {
    const LayerContext context = context_of(precision, recipe, true);
    return Cut(context).product_precision();
  };
  EXPECT_EQ(products(Precision::kFp8, Fp8Recipe::kTensorwise), Precision::kFp8);
  EXPECT_EQ(products(Precision::kFp8, Fp8Recipe::kMxfp8), Precision::kFp8Block);
  EXPECT_EQ(products(Precision::kNvfp4, Fp8Recipe::kDelayed), Precision::kNvfp4);
}

// DeepSeek's way: products down to narrow vectors are products of the layer like all others.
TEST(Quantisation, NarrowProductsReadWhatOthersRead) {
  Transformer model;
  model.hidden = 64;
  model.heads = model.kv_heads = 4;
  model.head_dim = 24;
  model.latent = LatentAttention{.query_rank = 32, .kv_rank = 16, .nope_dim = 16, .rope_dim = 8, .value_dim = 16};
  const LayerContext context = context_of(Precision::kFp8, Fp8Recipe::kBlockwise, false);
  const BlockOps layer = dense_layer(model, context);
  const auto wide = [](const OpList& ops) {
    int found = 0;
    for (const LayerOp& op : ops)
      if (const auto* shape = std::get_if<GemmShape>(&op.work)) found += shape->precision != Precision::kFp8Block;
    return found;
  };
  EXPECT_EQ(wide(forward_kernels(layer, context)), 0);
  EXPECT_EQ(wide(backward_kernels(layer, context)), 0);
  const auto quantised = [&](const OpList& ops) {
    return std::count_if(ops.begin(), ops.end(), [](const LayerOp& op) { return op.name == "quantise"; });
  };
  EXPECT_EQ(quantised(backward_kernels(layer, context)), 7) << "the output gradient of every product";
}

// A Llama: h 64, 8 heads of 8, 2 of keys and values, f 192.
Transformer llama() {
  Transformer model;
  model.hidden = 64;
  model.heads = 8;
  model.kv_heads = 2;
  model.head_dim = 8;
  model.ffn_hidden = 192;
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kSwiGlu;
  model.positions = Positions::kRotary;
  model.linear_bias = model.qkv_bias = model.tied_embeddings = false;
  return model;
}

double memory_bytes(const OpList& ops, std::string_view name) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (const auto* memory = std::get_if<MemoryBoundShape>(&op.work); memory != nullptr && op.name == name)
      bytes += memory->bytes.value();
  return bytes;
}

TEST(EagerKernels, MoveWhatPyTorchReadsAndWrites) {
  LayerContext fused;
  fused.sequence = 128;
  LayerContext eager = fused;
  eager.fusions = {
      .rms_norm = false, .rotary = false, .gated_activation = false, .squared_relu = false, .grouped_attention = false};
  const double tokens = 128;
  const BlockOps fast = dense_layer(llama(), fused), slow = dense_layer(llama(), eager);
  const OpList quick = forward_kernels(fast, fused), plain = forward_kernels(slow, eager);
  EXPECT_EQ(memory_bytes(quick, "norm 1"), 4 * tokens * 64);
  EXPECT_EQ(memory_bytes(plain, "norm 1"), 36 * tokens * 64);
  EXPECT_EQ(memory_bytes(plain, "rotary embedding"), 5 * memory_bytes(quick, "rotary embedding"));
  EXPECT_EQ(memory_bytes(quick, "repeat keys and values"), 0);
  EXPECT_EQ(memory_bytes(plain, "repeat keys and values"), 4 * tokens * 80);
  EXPECT_EQ(memory_bytes(plain, "activation") - memory_bytes(quick, "activation"), 4 * tokens * 192);
  const auto kept = [](const BlockOps& block) { return saved_bytes(block, RecomputeGranularity::kNone).value(); };
  // fp32 inputs of two norms, the activation beside its product, and keys and values of six heads more.
  EXPECT_EQ(kept(slow) - kept(fast), tokens * (2 * 4 * 64 + 2 * 192 + 4 * 6 * 8));
}

TEST(EagerKernels, RecomputationByOpRepeatsEverySecondProduct) {
  LayerContext context;
  context.sequence = 128;
  const BlockOps block = dense_layer(llama(), context);
  const OpList repeated =
      recomputed_kernels(block, context, RecomputeGranularity::kSelective, {.core_attention = false, .by_op = true});
  double flop = 0;
  for (const LayerOp& op : repeated) {
    EXPECT_FALSE(std::holds_alternative<AttentionShape>(op.work)) << "the output of fused attention is kept";
    if (const auto* gemm = std::get_if<GemmShape>(&op.work)) flop += gemm->flop().value();
  }
  // Keys, projection and up: h (g d + h + f).
  EXPECT_EQ(flop, 2.0 * 128 * 64 * (16 + 64 + 192));
  EXPECT_GT(memory_bytes(repeated, "norm 1"), 0);
}

}  // namespace
}  // namespace foretoken::model

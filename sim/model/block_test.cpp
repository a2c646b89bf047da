// Tests blocks as lists of ops over named tensors: shipped lists are consistent, and a mistake in a list is found.
#include "sim/model/block.h"

#include <gtest/gtest.h>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/stacks/decoder.h"
#include "sim/model/testdata/vectors.h"

namespace foretoken::model {
namespace {

TEST(Block, NoOpOfTheShippedBlocksReadsAnUnwrittenTensor) {
  Transformer model;
  for (const bool parallel : {false, true})
    for (const double dropout : {0.0, 0.1})
      for (const auto attention : {AttentionKind::kFlash, AttentionKind::kUnfused})
        for (const auto precision : {Precision::kBf16, Precision::kFp8}) {
          model.parallel_residual = model.embedding_norm = parallel;
          model.hidden_dropout = model.attention_dropout = dropout;
          LayerContext context;
          context.attention = attention;
          context.precision = precision;
          EXPECT_EQ(find_mistake(dense_layer(model, context)), std::nullopt);
          EXPECT_EQ(find_mistake(embedding_block(model, context)), std::nullopt);
          EXPECT_EQ(find_mistake(head_block(model, context)), std::nullopt);
        }
}

TEST(Block, NoOpOfAVariantReadsAnUnwrittenTensor) {
  Transformer model;
  model.head_bias = model.scaled_embedding = model.shared_norm = true;
  for (const bool parallel : {false, true})
    for (const auto places : {NormPlaces::kBefore, NormPlaces::kBehind, NormPlaces::kBoth})
      for (const auto norm : {QkNorm::kNone, QkNorm::kHead, QkNorm::kPlainHead, QkNorm::kAllHeads})
        for (const auto precision : {Precision::kBf16, Precision::kFp8}) {
          model.parallel_residual = parallel;
          model.norm_places = places;
          model.qk_norm = norm;
          LayerContext context;
          context.precision = precision;
          EXPECT_EQ(find_mistake(dense_layer(model, context)), std::nullopt);
          EXPECT_EQ(find_mistake(embedding_block(model, context)), std::nullopt);
          EXPECT_EQ(find_mistake(head_block(model, context)), std::nullopt);
        }
}

// Sums the bytes of the memory-bound kernels of a list.
double moved(const OpList& ops) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (const auto* shape = std::get_if<MemoryBoundShape>(&op.work)) bytes += shape->bytes.value();
  return bytes;
}

// One variant of a layer: the parameters, bytes moved and bytes saved that it adds.
struct Variant {
  const char* name;
  void (*change)(Transformer&);
  double parameters, forward, backward, saved;
};

TEST(Block, AVariantAddsItsParametersKernelsAndBytes) {
  Transformer plain = testdata::gpt(2, 1024, 16, 51200, 0);
  plain.kv_heads = 4;
  plain.positions = Positions::kRotary;
  plain.norm = Norm::kRmsNorm;
  plain.hidden_dropout = plain.attention_dropout = 0;
  LayerContext context;
  context.sequence = 2048;
  context.attention = AttentionKind::kFlash;
  context.tensor = 4;
  const double T = 2048, h = 1024, a = 16, g = 4, d = 64, t = 4, R = T;
  const double heads = T * (a + g) / t;
  const Variant variants[] = {
      {"norms of each head", [](Transformer& m) { m.qk_norm = QkNorm::kHead; }, 2 * d, 4 * heads * d, 8 * heads * d,
       2 * heads * d + 4 * heads},
      {"norms of each head without weights", [](Transformer& m) { m.qk_norm = QkNorm::kPlainHead; }, 0, 4 * heads * d,
       8 * heads * d, 2 * heads * d + 4 * heads},
      {"norms of all heads", [](Transformer& m) { m.qk_norm = QkNorm::kAllHeads; }, (a + g) * d, 4 * heads * d,
       8 * heads * d, 2 * heads * d + 4 * 2 * T / t},
      {"norms before and behind", [](Transformer& m) { m.norm_places = NormPlaces::kBoth; }, 2 * h, 2 * 4 * R * h,
       2 * 8 * R * h, 2 * (2 * R * h + 4 * T)},
      {"no biases of the MLP", [](Transformer& m) { m.mlp_bias = false; }, -(4 * h + h), 0,
       -2 * T * 4 * h / t - 2 * R * h, 0},
      {"no bias of the projection", [](Transformer& m) { m.projection_bias = false; }, -h, 0, -2 * R * h, 0},
      {"norms without weights", [](Transformer& m) { m.norm_scale = false; }, -2 * h, 0, 0, 0}};
  const auto saved = [&](const Transformer& m) {
    return layer_activation_bytes(m, context, RecomputeGranularity::kNone).value();
  };
  for (const Variant& variant : variants) {
    SCOPED_TRACE(variant.name);
    Transformer changed = plain;
    variant.change(changed);
    EXPECT_EQ(layer_parameters(changed) - layer_parameters(plain), variant.parameters);
    EXPECT_EQ(moved(layer_forward(changed, context)) - moved(layer_forward(plain, context)), variant.forward);
    EXPECT_EQ(moved(layer_backward(changed, context)) - moved(layer_backward(plain, context)), variant.backward);
    EXPECT_EQ(saved(changed) - saved(plain), variant.saved);
  }
}

TEST(Block, ASharedNormIsOneNormThatAddsTwoGradients) {
  Transformer two = testdata::gpt(2, 1024, 16, 51200, 0);
  two.parallel_residual = true;
  Transformer one = two;
  one.shared_norm = true;
  LayerContext context;
  context.sequence = 2048;
  const double T = 2048, h = 1024;
  EXPECT_EQ(layer_parameters(two) - layer_parameters(one), 2 * h);
  EXPECT_EQ(moved(layer_forward(two, context)) - moved(layer_forward(one, context)), 4 * T * h);
  EXPECT_EQ(moved(layer_backward(two, context)) - moved(layer_backward(one, context)), 2 * 14 * T * h - 20 * T * h);
}

TEST(Block, EndsHaveTheirScaleAndTheirBias) {
  Transformer model = testdata::gpt(2, 1024, 16, 51200, 0);
  const LayerContext context;
  const double T = context.tokens(), h = 1024, V = 51200;
  const double embedding = moved(embedding_forward(model, context)), head = moved(head_backward(model, context));
  const double parameters = head_parameters(model);
  model.scaled_embedding = model.head_bias = true;
  EXPECT_EQ(moved(embedding_forward(model, context)) - embedding, 4 * T * h);
  EXPECT_EQ(moved(head_backward(model, context)) - head, 2 * T * V);
  EXPECT_EQ(head_parameters(model) - parameters, V);
}

TEST(Block, AMistakeNamesTheOpAndTheTensor) {
  BlockOps block;
  block.input = block.add(Tensor{.name = "input"});
  const TensorId output = block.add(Tensor{.name = "output"});
  Op& op = block.add(Op{.name = "mix", .reads = {block.input}, .saves = {output}});
  EXPECT_EQ(find_mistake(block), "mix saves a tensor that it does not use: output");
  op.writes.add(output);
  EXPECT_EQ(find_mistake(block), std::nullopt);
  op.reads.add(block.add(Tensor{.name = "mask"}));
  EXPECT_EQ(find_mistake(block), "mix reads a tensor that no op has written: mask");
}

TEST(Stack, LayersBetweenAreCutFromTheRuns) {
  Transformer model;
  model.layers = 6;
  using Layers = std::vector<LayerCount>;
  EXPECT_EQ(layers_between(model, 2, 3), (Layers{{0, 3}})) << "all dense";
  model.stack = {{{.name = "dense", .at = {}}, 2}, {{.name = "sparse", .at = {}}, 3}, {{.name = "dense", .at = {}}, 1}};
  EXPECT_EQ(layers_between(model, 0, 6), (Layers{{0, 2}, {1, 3}, {2, 1}}));
  EXPECT_EQ(layers_between(model, 1, 2), (Layers{{0, 1}, {1, 1}}));
  EXPECT_EQ(layers_between(model, 4, 2), (Layers{{1, 1}, {2, 1}}));
}

}  // namespace
}  // namespace foretoken::model

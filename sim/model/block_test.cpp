// Tests blocks as lists of ops over named tensors: shipped lists are consistent, and a mistake in a list is found.
#include "sim/model/block.h"

#include <gtest/gtest.h>

#include "sim/model/blocks/blocks.h"
#include "sim/model/stacks/decoder.h"

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

// Checks encoder-decoders against formulas derived by hand: operations, saved bytes, cross-attention, both lengths.
#include "sim/model/encoder_decoder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"
#include "sim/model/stacks/decoder.h"

namespace foretoken::model {
namespace {

constexpr double kT5Hidden = 512, kT5Heads = 8, kT5HeadDim = 64, kT5Mlp = 2048, kT5Layers = 6,
                 kT5Words = 32128;  // of T5-small

Transformer t5_small() {
  Transformer model;
  model.layers = 12;
  model.hidden = 512;
  model.heads = model.kv_heads = 8;
  model.head_dim = 64;
  model.ffn_hidden = 2048;
  model.vocabulary = 32128;
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kRelu;
  model.positions = Positions::kNone;
  model.linear_bias = model.qkv_bias = false;
  model.encoder_decoder = EncoderDecoder{.encoder_layers = 6, .position_buckets = 32};
  return model;
}

LayerContext lengths(std::int64_t encoder, std::int64_t decoder, std::int64_t micro = 1) {
  LayerContext context;
  context.sequence = encoder;
  context.other_sequence = decoder;
  context.micro_batch = micro;
  context.attention = AttentionKind::kUnfused;
  return context;
}

// A layer of the encoder multiplies s tokens with four matrices of attention and two of the MLP. A layer of the decoder
// multiplies its d tokens with those and with two of cross-attention, and the s tokens of the encoder with two more.
TEST(EncoderDecoderFlop, CountsEachHalfByItsOwnLength) {
  const Transformer model = t5_small();
  for (const auto& [encoder, decoder] : {std::pair{512, 114}, std::pair{512, 512}, std::pair{128, 1024}}) {
    const double s = encoder, d = decoder, w = kT5Heads * kT5HeadDim;
    const double in_encoder = 2 * s * (4 * kT5Hidden * w + 2 * kT5Hidden * kT5Mlp) + 4 * s * s * w;
    const double in_decoder = 2 * d * (6 * kT5Hidden * w + 2 * kT5Hidden * kT5Mlp) + 2 * s * (2 * kT5Hidden * w) +
                              4 * d * d * w + 4 * d * s * w;
    const double head = 2 * d * kT5Hidden * kT5Words;
    const Lengths both(encoder, decoder);
    EXPECT_DOUBLE_EQ(model_flop_per_sequence(model, both).value(),
                     3 * (kT5Layers * in_encoder + kT5Layers * in_decoder + head));
    // Only self-attention of the decoder has a causal mask.
    EXPECT_DOUBLE_EQ(causal_model_flop_per_sequence(model, both).value(),
                     3 * (kT5Layers * in_encoder + kT5Layers * (in_decoder - 2 * d * d * w) + head));
  }
}

TEST(EncoderDecoderFlop, WithoutALengthOfItsOwnTheDecoderIsAsLong) {
  const Transformer model = t5_small();
  EXPECT_EQ(model_flop_per_sequence(model, 512), model_flop_per_sequence(model, Lengths(512, 512)));
}

// Bytes of a token and element, after section 4 of arXiv:2205.05198, without dropout: two norms keep input and output
// (8 h); products keep 8 a d of queries, keys, values and attention output; ReLU keeps its output only (2 f); softmax
// keeps 2 a s.
TEST(EncoderDecoderBytes, OfAnEncoderLayerAreThePapers) {
  const Transformer model = t5_small();
  const LayerContext context = lengths(512, 114, 3);
  const double tokens = 512 * 3;
  EXPECT_DOUBLE_EQ(saved_bytes(decoder_layers(model, context).front().ops, RecomputeGranularity::kNone).value(),
                   tokens * (8 * kT5Hidden + 8 * kT5Heads * kT5HeadDim + 2 * kT5Mlp + 2 * kT5Heads * 512));
}

// Cross-attention adds a norm (4 h), queries and output (4 a d) of the decoder's tokens, keys and values (4 a d) of the
// encoder's, and a softmax of d x s. The encoder's output is kept once for all layers.
TEST(EncoderDecoderBytes, OfADecoderLayerHaveThoseOfCrossAttention) {
  const Transformer model = t5_small();
  const LayerContext context = lengths(512, 114, 3);
  const double own = 114 * 3, encoders = 512 * 3;
  const BlockOps layer = decoder_layers(model, context).back().ops;
  const double self = own * (8 * kT5Hidden + 8 * kT5Heads * kT5HeadDim + 2 * kT5Mlp + 2 * kT5Heads * 114);
  const double cross =
      own * (4 * kT5Hidden + 4 * kT5Heads * kT5HeadDim + 2 * kT5Heads * 512) + encoders * 4 * kT5Heads * kT5HeadDim;
  EXPECT_DOUBLE_EQ(saved_bytes(layer, RecomputeGranularity::kNone).value(), self + cross);
  EXPECT_DOUBLE_EQ(layer.shared_bytes, encoders * 2 * kT5Hidden);
  EXPECT_DOUBLE_EQ(saved_bytes(layer, RecomputeGranularity::kFull).value(), own * 2 * kT5Hidden);
}

const LayerOp* op_named(const OpList& ops, std::string_view name) {
  for (const LayerOp& op : ops)
    if (op.name == name) return &op;
  return nullptr;
}

TEST(EncoderDecoderKernels, KeysComeFromTheEncoder) {
  const Transformer model = t5_small();
  LayerContext context = lengths(512, 114, 4);
  context.tensor = 2;
  const OpList forward = forward_kernels(decoder_layers(model, context).back().ops, context);
  const auto gemm = [&](std::string_view name) { return std::get<GemmShape>(op_named(forward, name)->work); };
  EXPECT_EQ(gemm("cross query").m, 114 * 4);
  EXPECT_EQ(gemm("cross query").n, 512 / 2);
  EXPECT_EQ(gemm("cross key-value").m, 512 * 4);
  EXPECT_EQ(gemm("cross key-value").n, 2 * 512 / 2);
  EXPECT_EQ(gemm("qkv").m, 114 * 4);
  std::vector<std::int64_t> keys;
  for (const LayerOp& op : forward)
    if (op.name == "scores") keys.push_back(std::get<GemmShape>(op.work).n);
  EXPECT_EQ(keys, (std::vector<std::int64_t>{114, 512})) << "of itself, then of the encoder";
}

// Relative positions are added to scores of self-attention only: six bytes a score, two in the backward pass.
TEST(EncoderDecoderKernels, PositionsAreAddedToScores) {
  const Transformer model = t5_small();
  const LayerContext context = lengths(512, 114, 4);
  for (const auto& [at, scores] : {std::pair{0, 4 * kT5Heads * 512 * 512}, std::pair{3, 4 * kT5Heads * 114 * 114}}) {
    const BlockOps layer = decoder_layers(model, context).at(static_cast<std::size_t>(at)).ops;
    int added = 0;
    for (const LayerOp& op : forward_kernels(layer, context))
      if (op.name == "add position bias") {
        EXPECT_DOUBLE_EQ(std::get<MemoryBoundShape>(op.work).bytes.value(), 6 * scores);
        ++added;
      }
    EXPECT_EQ(added, 1);
    const OpList backward = backward_kernels(layer, context);
    EXPECT_DOUBLE_EQ(std::get<MemoryBoundShape>(op_named(backward, "position bias gradient")->work).bytes.value(),
                     2 * scores);
  }
}

TEST(EncoderDecoderKernels, OnlyTheDecodersSelfAttentionIsCausal) {
  Transformer model = t5_small();
  model.encoder_decoder->position_buckets = 0;
  LayerContext context = lengths(512, 114);
  context.attention = AttentionKind::kFlash;
  const auto masks = [&](const BlockOps& layer) {
    std::vector<bool> causal;
    for (const LayerOp& op : forward_kernels(layer, context))
      if (const auto* shape = std::get_if<AttentionShape>(&op.work)) causal.push_back(shape->causal);
    return causal;
  };
  const std::vector<LayerRunOps> layers = decoder_layers(model, context);
  EXPECT_EQ(masks(layers.front().ops), std::vector<bool>{false});
  EXPECT_EQ(masks(layers.back().ops), (std::vector<bool>{true, false}));
}

TEST(EncoderDecoderLayers, StandInTheOrderOfBothHalves) {
  const Transformer model = t5_small();
  const std::vector<LayerCount> all = layers_between(model, 0, 12);
  const std::vector<LayerCount> expected = {{0, 5}, {1, 1}, {2, 1}, {3, 5}};
  EXPECT_EQ(all, expected);
  EXPECT_EQ(layers_between(model, 6, 3), (std::vector<LayerCount>{{2, 1}, {3, 2}}));
  for (const bool relative : {false, true}) {
    Transformer other = model;
    other.encoder_decoder->position_buckets = relative ? 32 : 0;
    other.activation_dropout = other.hidden_dropout = other.attention_dropout = 0.1;
    for (const LayerRunOps& run : decoder_layers(other, lengths(64, 16)))
      EXPECT_EQ(find_mistake(run.ops).value_or(""), "");
    EXPECT_EQ(find_mistake(head_block(other, lengths(64, 16))).value_or(""), "");
    EXPECT_EQ(find_mistake(embedding_block(other, lengths(64, 16))).value_or(""), "");
  }
}

// Rows and columns of every matrix, elements of every vector: a layer of the encoder has qkv, projection, fc1 and fc2.
TEST(EncoderDecoderCounts, FactoredMomentsAreRowsAndColumns) {
  const Transformer model = t5_small();
  const BlockOps layer = decoder_layers(model, {}).front().ops;
  const double w = kT5Heads * kT5HeadDim;
  EXPECT_EQ(factored_moments(layer, {}),
            (3 * w + kT5Hidden) + (kT5Hidden + w) + (kT5Mlp + kT5Hidden) + (kT5Hidden + kT5Mlp) + 2 * kT5Hidden);
}

}  // namespace
}  // namespace foretoken::model

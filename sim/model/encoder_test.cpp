// Checks encoders against the papers' formulas: saved bytes, operations, kernels of the heads, full attention.
#include "sim/model/encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/matrices.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"

namespace foretoken::model {
namespace {

/// BERT-large with both heads of its pre-training.
Transformer bert_large() {
  Transformer model;
  model.layers = 24;
  model.hidden = 1024;
  model.heads = model.kv_heads = 16;
  model.head_dim = 64;
  model.ffn_hidden = 4096;
  model.vocabulary = 30522;
  model.max_positions = 512;
  model.norm_places = NormPlaces::kSums;
  model.embedding_norm = model.head_bias = true;
  model.hidden_dropout = model.attention_dropout = 0.1;
  model.encoder = Encoder{.token_types = 2, .masked_head = true, .pooler = true, .sequence_classes = 2};
  return model;
}

LayerContext eager(std::int64_t sequence, std::int64_t micro_batch) {
  LayerContext context;
  context.sequence = sequence;
  context.micro_batch = micro_batch;
  context.attention = AttentionKind::kUnfused;
  return context;
}

// arXiv:2205.05198 equation 1. The norms stand elsewhere than in a decoder, and as many tensors are kept.
TEST(EncoderLayer, KeepsAsManyBytesAsAnEagerDecoderLayer) {
  const Transformer model = bert_large();
  for (const std::int64_t sequence : {128, 384, 512})
    for (const std::int64_t micro : {1, 6, 64}) {
      const auto s = static_cast<double>(sequence), b = static_cast<double>(micro);
      const double h = 1024, a = 16;
      EXPECT_EQ(layer_activation_bytes(model, eager(sequence, micro), RecomputeGranularity::kNone).value(),
                34 * s * b * h + 5 * a * s * s * b);
    }
}

// PyTorch's BERT for questions and answers has 391 tensors that train: 16 a layer, five of the embedding, two of the
// head.
TEST(EncoderLayer, StoresQueriesKeysAndValuesApartAndNormsAsTwoVectors) {
  Transformer model = bert_large();
  model.encoder = Encoder{.token_types = 2, .token_classes = 2};
  const LayerContext context = eager(384, 8);
  EXPECT_EQ(stored_tensors(dense_layer(model, context)), 16);
  EXPECT_EQ(stored_matrices(dense_layer(model, context)), 6);
  EXPECT_EQ(stored_tensors(embedding_block(model, context)), 5);
  EXPECT_EQ(stored_tensors(head_block(model, context)), 2);
}

// A decoder's queries, keys and values are one tensor. A tied table counts where the embedding holds it.
TEST(EncoderLayer, ADecoderStoresThemAsOne) {
  Transformer model = bert_large();
  model.encoder.reset();
  const LayerContext context = eager(384, 8);
  EXPECT_EQ(stored_tensors(dense_layer(model, context)), 12);
  EXPECT_EQ(stored_matrices(dense_layer(model, context)), 4);
}

// Six operations a weight and token, and the full square of scores: 72 L s h^2 (1 + s / 6h) for the layers, as
// arXiv:2104.04473 equation 3 has it. The masked head reads a share of the tokens, the pooler one a sequence.
TEST(EncoderFlop, IsThePapersFormulaWithTheHeads) {
  Transformer model = bert_large();
  for (const double share : {1.0, 0.15625})
    for (const std::int64_t sequence : {128, 512}) {
      model.encoder->predicted_share = share;
      const double s = static_cast<double>(sequence), h = 1024, words = 30522;
      const double layers = 72 * 24 * s * h * h * (1 + s / (6 * h));
      const double masked = 6 * share * s * h * (h + words), pooled = 6 * h * (h + 2);
      EXPECT_DOUBLE_EQ(model_flop_per_sequence(model, sequence).value(), layers + masked + pooled);
      EXPECT_EQ(causal_model_flop_per_sequence(model, sequence), model_flop_per_sequence(model, sequence));
    }
}

const GemmShape* product_named(const OpList& ops, std::string_view name) {
  for (const LayerOp& op : ops)
    if (op.name == name) return std::get_if<GemmShape>(&op.work);
  return nullptr;
}

// Phase 1 of BERT's pre-training predicts at most 20 of 128 tokens, phase 2 at most 80 of 512.
TEST(EncoderHeads, ReadOnlyTheirRows) {
  Transformer model = bert_large();
  model.encoder->predicted_share = 20.0 / 128;
  const LayerContext context = eager(128, 64);
  for (const OpList& ops : {head_forward(model, context), head_backward(model, context)})
    for (const auto& [name, rows] : {std::pair{"head", 20 * 64}, std::pair{"head transform", 20 * 64},
                                     std::pair{"pooler", 64}, std::pair{"class logits", 64}})
      if (const GemmShape* product = product_named(ops, name)) {
        EXPECT_EQ(product->m, rows) << name;
      }
  EXPECT_NE(product_named(head_forward(model, context), "head"), nullptr);
  EXPECT_NE(product_named(head_forward(model, context), "pooler"), nullptr);
  EXPECT_EQ(product_named(head_backward(model, context), "head weight gradient")->k, 20 * 64);
  const double kept = head_activation_bytes(model, context).value();
  model.encoder->predicted_share = 1;
  EXPECT_GT(head_activation_bytes(model, context).value(), 5 * kept);
}

// Scale 4, mask 6, fp32 softmax 8, dropout 9, copy 6 forward; copy 6, dropout 9, softmax 12, cast 6, scale 4 backward.
TEST(EncoderAttention, MixedPrecisionMovesScoresInFp32) {
  const Transformer model = bert_large();
  LayerContext context = eager(384, 3);
  const double scores = 3.0 * 16 * 384 * 384;
  const auto bytes_of_scores = [&](const OpList& ops) {
    double bytes = 0;
    for (const LayerOp& op : ops)
      if (const auto* shape = std::get_if<MemoryBoundShape>(&op.work))
        if (op.role == OpRole::kAttention) bytes += shape->bytes.value();
    return bytes;
  };
  const double fused = bytes_of_scores(attention_core_forward(model, context));
  context.fusions.softmax = false;
  EXPECT_DOUBLE_EQ(bytes_of_scores(attention_core_forward(model, context)) - fused, (33 - 9) * scores);
  context.fusions.softmax = true;
  const double backward = bytes_of_scores(layer_backward(model, context));
  context.fusions.softmax = false;
  EXPECT_DOUBLE_EQ(bytes_of_scores(layer_backward(model, context)) - backward, (37 - 11) * scores);
}

TEST(EncoderAttention, HasNoCausalMask) {
  const Transformer model = bert_large();
  LayerContext context = eager(512, 8);
  context.attention = AttentionKind::kFlash;
  for (const int ranks : {1, 4}) {
    context.context = ranks;
    int found = 0;
    for (const OpList& ops : {layer_forward(model, context), layer_backward(model, context)})
      for (const LayerOp& op : ops)
        if (const auto* shape = std::get_if<AttentionShape>(&op.work)) {
          EXPECT_FALSE(shape->causal);
          EXPECT_EQ(shape->q_length, 512 / ranks);
          EXPECT_EQ(shape->kv_length, 512 / ranks);
          ++found;
        }
    EXPECT_EQ(found, 2 * ranks) << "one kernel for each part of the ring, both ways";
  }
}

TEST(EncoderBlocks, ReadOnlyWhatIsWritten) {
  Transformer model = bert_large();
  for (const std::int64_t width : {0, 128, 2048}) {
    model.encoder->embedding_width = width;
    model.encoder->token_classes = width > 0 ? 1 : 0;
    model.encoder->token_transform = width > 0;
    const LayerContext context = eager(128, 2);
    for (const BlockOps& block :
         {embedding_block(model, context), dense_layer(model, context), head_block(model, context)})
      EXPECT_EQ(find_mistake(block).value_or(""), "");
  }
}

}  // namespace
}  // namespace foretoken::model

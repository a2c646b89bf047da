// Checks stored activations against Table 2 and Fig. 1 of arXiv:2205.05198 and against the vectors of six models.
#include "sim/model/counts/saved_bytes.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"
#include "sim/model/testdata/vectors.h"

namespace foretoken::model {
namespace {

/// Flash attention over one sequence.
LayerContext flash_context(std::int64_t sequence, int tensor, bool sequence_parallel = true) {
  LayerContext context;
  context.sequence = sequence;
  context.tensor = tensor;
  context.sequence_parallel = sequence_parallel;
  return context;
}

LayerContext gpt_context(const Transformer& model, int tensor, bool sequence_parallel) {
  LayerContext context = flash_context(model.max_positions, tensor, sequence_parallel);
  context.attention = AttentionKind::kUnfused;
  return context;
}

TEST(Activations, EveryModeOfTable2IsExactForTheGptVectors) {
  struct Mode {
    const char* key;
    bool sequence_parallel;
    RecomputeGranularity granularity;
  };
  const Mode modes[] = {{"none_tp_only", false, RecomputeGranularity::kNone},
                        {"tp_sp", true, RecomputeGranularity::kNone},
                        {"sp_selective", true, RecomputeGranularity::kSelective},
                        {"full", false, RecomputeGranularity::kFull},
                        {"full_sp", true, RecomputeGranularity::kFull}};
  int checked = 0;
  const auto vectors = testdata::model_vectors();
  for (const auto& [name, vector] : vectors.items()) {
    const Transformer model = testdata::vector_model(vector.at("config"));
    if (model.gated()) continue;  // Table 2 is for GPT shapes
    for (const int tensor : {1, 8})
      for (const auto& mode : modes) {
        const auto& expected = vector.at("activation_bytes_per_layer").at(tensor == 1 ? "t1" : "t8");
        const LayerContext context = gpt_context(model, tensor, mode.sequence_parallel);
        EXPECT_EQ(layer_activation_bytes(model, context, mode.granularity).value(), expected.at(mode.key).get<double>())
            << name << " t=" << tensor << " " << mode.key;
        ++checked;
      }
  }
  EXPECT_EQ(checked, 30);
}

Transformer layer_of_1024() {
  Transformer model;
  model.hidden = 1024;
  model.heads = model.kv_heads = 16;
  model.head_dim = 64;
  model.ffn_hidden = 4096;
  return model;
}

// Masks keep one byte an element.
TEST(Activations, ElementsOf32BitsTakeTwiceTheBytesExceptMasks) {
  Transformer model = layer_of_1024();
  model.hidden_dropout = model.attention_dropout = 0.1;
  LayerContext context;
  context.sequence = 128;
  context.micro_batch = 4;
  context.attention = AttentionKind::kUnfused;
  const auto bytes = [&](Precision precision) {
    context.precision = precision;
    return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
  };
  const double tokens = 128.0 * 4, masks = 2 * tokens * static_cast<double>(model.hidden) +
                                           4.0 * static_cast<double>(model.heads) * 128 * 128;
  EXPECT_DOUBLE_EQ(bytes(Precision::kFp32), 2 * bytes(Precision::kBf16) - masks);
  model.hidden_dropout = model.attention_dropout = 0;
  EXPECT_DOUBLE_EQ(bytes(Precision::kFp32), 2 * bytes(Precision::kBf16));
}

TEST(Activations, Fp8KeepsInputsOfLinearLayersInOneByte) {
  const Transformer model = layer_of_1024();
  LayerContext context = flash_context(2048, 1);
  const auto stored = [&] { return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value(); };
  const double in_16_bit = stored();
  context.precision = Precision::kFp8;
  const double two_norms = 2 * 2048.0 * 1024, fc2 = 2048.0 * 4096, projection = 2048.0 * 1024;
  EXPECT_DOUBLE_EQ(stored(), in_16_bit - two_norms - fc2 + projection);
}

TEST(Activations, TradingTokensForHeadsKeepsTheOutputTwice) {
  const Transformer model = layer_of_1024();
  LayerContext context = flash_context(8192, 2);
  context.context = 4;
  const double ring = layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
  context.exchange = ContextExchange::kAllToAll;
  EXPECT_DOUBLE_EQ(layer_activation_bytes(model, context, RecomputeGranularity::kNone).value(),
                   ring + 2.0 * 8192 / 4 * 1024 / 2);
}

TEST(Activations, FlashAttentionWithoutDropoutIsExactForAllSixVectors) {
  const auto vectors = testdata::model_vectors();
  for (const auto& [name, vector] : vectors.items()) {
    Transformer model = testdata::vector_model(vector.at("config"));
    model.hidden_dropout = model.attention_dropout = 0;
    for (const int tensor : {1, 8}) {
      const LayerContext context = flash_context(vector.at("config").at("s"), tensor);
      const auto& expected = vector.at("activation_bytes_per_layer").at(tensor == 1 ? "t1" : "t8");
      EXPECT_EQ(layer_activation_bytes(model, context, RecomputeGranularity::kNone).value(),
                expected.at("te_flash_sp_nodropout").get<double>())
          << name << " t=" << tensor;
    }
  }
}

// Table 2 in symbols: selective recomputation without sequence parallelism keeps s b h (10 + 24/t).
TEST(Activations, SelectiveRecomputationDropsExactlyTheAttentionTerm) {
  const Transformer model = testdata::gpt(48, 6144, 64, 51200, 2048);
  LayerContext context = gpt_context(model, 8, false);
  context.micro_batch = 4;
  const double s = 2048, b = 4, h = 6144, a = 64, t = 8;
  const double none = layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
  const double selective = layer_activation_bytes(model, context, RecomputeGranularity::kSelective).value();
  EXPECT_EQ(selective, s * b * h * (10 + 24 / t));
  EXPECT_EQ(none - selective, s * b * 5 * a * s / t);
}

// Fig. 1 shows all layers on the first stage, with one micro-batch for each of the p stages in flight. That makes L
// layers in all, times 1 + (p-1)/(pv) when interleaved. The GiB are the numbers of the figure as Calculon's validation
// keeps them.
TEST(Activations, Figure1IsReproduced) {
  struct Bar {
    const char* name;
    std::int64_t layers, hidden, heads, micro_batch;
    int pipeline, chunks;
    double none_gib, sequence_selective_gib;
  };
  const Bar bars[] = {{"22B", 48, 6144, 64, 4, 1, 1, 59.25, 9.5625},
                      {"175B", 96, 12288, 96, 1, 8, 3, 66.84375, 12.3515625},
                      {"530B", 105, 20480, 128, 1, 35, 3, 114.0234375, 23.076171875},
                      {"1T", 128, 25600, 160, 1, 64, 1, 131.25, 26.5625}};
  for (const auto& bar : bars) {
    const Transformer model = testdata::gpt(bar.layers, bar.hidden, bar.heads, 51200, 2048);
    const double interleaving =
        bar.chunks == 1 ? 1 : 1 + (bar.pipeline - 1.0) / (static_cast<double>(bar.pipeline) * bar.chunks);
    const auto gib = [&](bool sequence_parallel, RecomputeGranularity granularity) {
      LayerContext context = gpt_context(model, 8, sequence_parallel);
      context.micro_batch = bar.micro_batch;
      return layer_activation_bytes(model, context, granularity).value() * static_cast<double>(bar.layers) *
             interleaving / kGiB;
    };
    EXPECT_NEAR(gib(false, RecomputeGranularity::kNone) / bar.none_gib, 1, 1e-12) << bar.name;
    EXPECT_NEAR(gib(true, RecomputeGranularity::kSelective) / bar.sequence_selective_gib, 1, 1e-12) << bar.name;
  }
}

TEST(Activations, WithoutDropoutTheMasksAndTheDroppedScoresGo) {
  Transformer model = testdata::gpt(1, 1024, 16, 51200, 2048);
  const LayerContext context = gpt_context(model, 4, false);
  const double tokens = 2048, h = 1024, a = 16, s = 2048, t = 4;
  const auto stored = [&] { return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value(); };
  const double all = stored();
  model.attention_dropout = 0;
  EXPECT_EQ(all - stored(), tokens * 3 * a * s / t) << "mask and output of the attention dropout";
  model.hidden_dropout = 0;
  EXPECT_EQ(all - stored(), tokens * (3 * a * s / t + 2 * h)) << "and two masks of one byte";
}

TEST(Activations, FewerKeyValueHeadsThanRanksAreReplicated) {
  Transformer model = testdata::gpt(1, 1024, 16, 51200, 2048);
  model.kv_heads = 2;
  const auto stored = [&](int tensor) {
    const LayerContext context = flash_context(2048, tensor);
    return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
  };
  EXPECT_EQ(stored(1), 2 * stored(2));
  const double tokens = 2048, head_dim = 64;
  EXPECT_EQ(stored(8) - stored(1) / 8, tokens * 4 * (1 - 2.0 / 8) * head_dim) << "one head of keys and values, not 2/8";
}

TEST(Activations, ContextParallelismDividesTheBytesThatALayerKeeps) {
  const Transformer model = testdata::gpt(1, 1024, 16, 51200, 2048);
  for (const auto attention : {AttentionKind::kFlash, AttentionKind::kUnfused}) {
    LayerContext context = flash_context(8192, 1);
    context.attention = attention;
    const double whole = layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
    context.context = 4;
    EXPECT_EQ(layer_activation_bytes(model, context, RecomputeGranularity::kNone).value(), whole / 4);
  }
}

// arXiv:2401.10241 Table 1: a layer keeps 32 s b h bytes between both parts of its backward pass.
TEST(Activations, WeightGradientsWaitWithInputsAndOutputGradientsOfProducts) {
  int checked = 0;
  const auto vectors = testdata::model_vectors();
  for (const auto& [name, vector] : vectors.items()) {
    const Transformer model = testdata::vector_model(vector.at("config"));
    if (model.gated()) continue;
    const LayerContext context = gpt_context(model, 1, false);
    const foretoken::Bytes waiting =
        bytes_for_weight_gradients(backward_kernels(dense_layer(model, context), context), 1);
    EXPECT_EQ(waiting.value(), 32.0 * static_cast<double>(model.max_positions * model.hidden)) << name;
    // Eight ranks with sequence parallelism keep an eighth of it, but whole output gradients of both row-parallel
    // products: 2 x 2 s b h.
    const LayerContext cut = gpt_context(model, 8, true);
    const foretoken::Bytes of_rank =
        bytes_for_weight_gradients(backward_kernels(dense_layer(model, cut), cut), cut.tensor);
    EXPECT_EQ(of_rank.value(), (28.0 / 8 + 4) * static_cast<double>(model.max_positions * model.hidden)) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 3);
}

TEST(Activations, SelectiveModulesDropTheirOwnTensors) {
  Transformer model = testdata::gpt(1, 1024, 16, 51200, 2048);
  const LayerContext context = flash_context(2048, 4);
  const double tokens = 2048 / 4, h = 1024, f = 4096;
  const auto saved = [&](SelectiveModules modules) {
    return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value() -
           layer_activation_bytes(model, context, RecomputeGranularity::kSelective, modules).value();
  };
  EXPECT_EQ(saved({.core_attention = true}), tokens * 4 * 16) << "flash attention keeps its log-sum-exp";
  EXPECT_EQ(saved({.core_attention = false, .mlp = true}), tokens * 4 * f);
  EXPECT_EQ(saved({.core_attention = false, .activation = true}), tokens * 2 * f);
  EXPECT_EQ(saved({.core_attention = false, .mlp = true, .activation = true}), tokens * 4 * f) << "counted once";
  EXPECT_EQ(saved({.core_attention = false, .layer_norm = true}), tokens * 4 * h);
  model.activation = Activation::kSwiGlu;
  EXPECT_EQ(saved({.core_attention = false, .mlp = true}), tokens * 6 * f);
}

TEST(Activations, EmbeddingAndHead) {
  Transformer model = testdata::gpt(1, 1024, 16, 51200, 2048);
  LayerContext context = flash_context(2048, 4);
  const double tokens = 2048, h = 1024, vocabulary = 51200, t = 4;
  EXPECT_EQ(embedding_activation_bytes(model, context).value(), tokens * (8 + h / t));
  EXPECT_EQ(head_activation_bytes(model, context).value(), tokens * (4 * h / t + 4 * vocabulary / t));
  EXPECT_EQ(loss_transient_bytes(model, context).value(), 2 * tokens * vocabulary / t) << "logits beside the fp32 copy";
  context.fusions.cross_entropy = true;
  EXPECT_EQ(head_activation_bytes(model, context).value(), tokens * (4 * h / t + 2 * vocabulary / t));
  EXPECT_EQ(loss_transient_bytes(model, context).value(), 2 * vocabulary * h / t + tokens * (4 * h + 2 * h / t))
      << "head's backward: weights' gradient, input's gradient, gathered input, its scattered gradient";
  context.fusions.compiled_cross_entropy = true;
  EXPECT_EQ(head_activation_bytes(model, context).value(), tokens * (4 * h / t + 4 * vocabulary / t));
  EXPECT_EQ(loss_transient_bytes(model, context).value(), 6 * tokens * vocabulary / t)
      << "16-bit logits and an fp32 copy beside the one that is kept";
  model.hidden_dropout = 0;
  model.embedding_norm = true;
  EXPECT_EQ(embedding_activation_bytes(model, context).value(), tokens * (8 + 2 * h / t));
  EXPECT_EQ(boundary_bytes(model, context).value(), 2 * tokens * h / t);
  context.sequence_parallel = false;
  EXPECT_EQ(boundary_bytes(model, context).value(), 2 * tokens * h) << "every tensor rank holds and sends all of it";
}

TEST(Activations, RecomputationIsAliveBesideTheGradients) {
  const Transformer model = testdata::gpt(1, 12288, 96, 51200, 2048);
  const LayerContext context = gpt_context(model, 8, true);
  const auto transient = [&](RecomputeGranularity granularity) {
    return layer_backward_transient_bytes(model, context, granularity).value();
  };
  const double tokens = 2048, h = 12288, s = 2048, a = 96, t = 8;
  const double residuals = 4 * tokens * h / t;
  EXPECT_EQ(transient(RecomputeGranularity::kNone), residuals + tokens * (2 * h + 8 * h / t)) << "fc2's backward pass";
  EXPECT_EQ(transient(RecomputeGranularity::kSelective), residuals + tokens * (7 * a * s - 16 * h) / t)
      << "scores recomputed and one gradient of them, the MLP's tensors released";
  EXPECT_EQ(transient(RecomputeGranularity::kFull),
            transient(RecomputeGranularity::kNone) + tokens * (34 * h + 5 * a * s - 2 * h) / t)
      << "the whole layer but its input";
}

}  // namespace
}  // namespace foretoken::model

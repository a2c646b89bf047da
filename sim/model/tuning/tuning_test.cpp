// Tests that fine-tuning trains the published numbers of parameters, and runs and keeps nothing for frozen weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/model/blocks/blocks.h"
#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/counts/saved_bytes.h"
#include "sim/model/kernels.h"
#include "sim/model/testdata/vectors.h"

namespace foretoken::model {
namespace {

// huggingface: meta-llama/Llama-3.2-3B, config.json.
Transformer llama_3b() {
  return {.layers = 28,
          .hidden = 3072,
          .heads = 24,
          .kv_heads = 8,
          .head_dim = 128,
          .ffn_hidden = 8192,
          .vocabulary = 128256,
          .norm = Norm::kRmsNorm,
          .activation = Activation::kSwiGlu,
          .positions = Positions::kRotary,
          .tied_embeddings = true,
          .linear_bias = false,
          .qkv_bias = false};
}

Transformer tuned(Transformer model, FineTuning tuning) {
  model.tuning = tuning;
  return model;
}

constexpr LoraTargets kAttention{.queries = true, .keys = true, .values = true, .projection = true};

struct PublishedCount {
  const char* name;
  FineTuning tuning;
  double trained;
};

// huggingface/peft 5d602fdbf, method_comparison/MetaMathQA/results: trainable parameters of runs with Llama-3.2-3B.
const PublishedCount kPublished[] = {
    {"all weights", {}, 3212749824},
    {"rank 32 beside queries and values",
     {.method = TuningMethod::kLora, .rank = 32, .targets = {.queries = true, .values = true}},
     9175040},
    {"rank 64 beside queries and values",
     {.method = TuningMethod::kLora, .rank = 64, .targets = {.queries = true, .values = true}},
     18350080},
    {"rank 10 beside the MLP",
     {.method = TuningMethod::kLora, .rank = 10, .targets = {.gate = true, .up = true, .fc2 = true}},
     9461760}};

TEST(FineTuning, TrainsThePublishedNumberOfParameters) {
  for (const PublishedCount& published : kPublished)
    EXPECT_EQ(trained_parameters(tuned(llama_3b(), published.tuning)), published.trained) << published.name;
}

TEST(FineTuning, TrainsTheParametersOfThePapersFormulas) {
  const Transformer gpt = testdata::gpt(4, 1024, 16, 51200, 2048);
  const double layers = 4, h = 1024, m = 64, v = 100, e = 2048;
  const auto trained = [&](const FineTuning& tuning) { return trained_parameters(tuned(gpt, tuning)); };
  EXPECT_EQ(trained({.method = TuningMethod::kAdapter, .rank = 64}), layers * 2 * (2 * m * h + h + m));
  EXPECT_EQ(trained({.method = TuningMethod::kPromptTuning, .virtual_tokens = 100}), v * h);
  EXPECT_EQ(trained({.method = TuningMethod::kPTuning, .virtual_tokens = 100}), v * h + (h * e + e) + (e * h + h));
  EXPECT_EQ(trained({.method = TuningMethod::kQlora, .rank = 8, .targets = {.fused_qkv = true}}),
            layers * 8 * (h + 3 * h));
}

TEST(FineTuning, AddsItsParametersToTheModels) {
  const Transformer plain = llama_3b();
  const Transformer lora = tuned(plain, kPublished[1].tuning);
  EXPECT_EQ(total_parameters(lora) - total_parameters(plain), trained_parameters(lora));
}

// huggingface: google/mt5-large, config.json: bigscience/mt0-large has the same.
Transformer mt5_large() {
  Transformer model;
  model.layers = 48;
  model.hidden = 1024;
  model.heads = model.kv_heads = 16;
  model.head_dim = 64;
  model.ffn_hidden = 2816;
  model.vocabulary = 250112;
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kGeGlu;
  model.positions = Positions::kNone;
  model.tied_embeddings = model.linear_bias = model.qkv_bias = false;
  model.encoder_decoder = EncoderDecoder{.encoder_layers = 24, .position_buckets = 32};
  return model;
}

// PEFT's README: get_peft_model(bigscience/mt0-large), rank 8, prints 2359296 trainable of 1231940608 parameters.
TEST(FineTuning, TrainsThePublishedNumberOfAnEncoderDecoder) {
  const Transformer lora =
      tuned(mt5_large(), {.method = TuningMethod::kLora, .rank = 8, .targets = {.queries = true, .values = true}});
  EXPECT_EQ(trained_parameters(lora), 2359296);
  EXPECT_EQ(total_parameters(lora), 1231940608);
}

// LoRA beside the product of keys and values multiplies the encoder's tokens, the one beside queries the decoder's.
TEST(FineTuning, CountsLoraOfCrossAttentionByBothLengths) {
  const Transformer plain = tuned(mt5_large(), {.method = TuningMethod::kPromptTuning});
  const double s = 512, d = 128, layers = 24, adapter = 2.0 * 8 * (1024 + 1024);
  const auto added = [&](const LoraTargets& targets) {
    const Transformer lora = tuned(mt5_large(), {.method = TuningMethod::kLora, .rank = 8, .targets = targets});
    return model_flop_per_sequence(lora, {512, 128}).value() - model_flop_per_sequence(plain, {512, 128}).value();
  };
  EXPECT_EQ(added({.queries = true}), 3 * layers * adapter * (s + d + d));
  EXPECT_EQ(added({.values = true}), 3 * layers * adapter * (s + d + s));
}

// Two layers with experts behind a dense one: 8 experts of width 96, two a token, and shared ones of width 192.
Transformer with_mixture() {
  Transformer model;
  model.layers = 3;
  model.hidden = 64;
  model.heads = model.kv_heads = 4;
  model.head_dim = 16;
  model.ffn_hidden = 256;
  model.vocabulary = 1000;
  model.norm = Norm::kRmsNorm;
  model.activation = Activation::kSwiGlu;
  model.positions = Positions::kRotary;
  model.tied_embeddings = model.linear_bias = model.qkv_bias = false;
  model.experts = Experts{.count = 8, .per_token = 2, .width = 96, .shared_width = 192, .dense_first = 1};
  return model;
}

// An adapter of rank r beside a product of n outputs and k inputs has r (n + k) parameters. Gate, up and down of width
// f have 3 r (h + f).
TEST(FineTuning, AdaptersBesideExperts) {
  const double r = 4, h = 64, dense = 256, shared = 192, routed = 96, experts = 8, met = 2;
  const LoraTargets mlp{.gate = true, .up = true, .fc2 = true};
  const auto of_width = [&](double width) { return 3 * r * (h + width); };
  const auto lora = [&](const LoraTargets& targets, TuningMethod method = TuningMethod::kLora) {
    return tuned(with_mixture(), {.method = method, .rank = 4, .targets = targets});
  };
  const double others = of_width(dense) + 2 * of_width(shared);
  EXPECT_EQ(trained_parameters(lora(mlp)), others);
  EXPECT_EQ(trained_parameters(lora(mlp | LoraTargets{.experts = true})), others + 2 * experts * of_width(routed));
  EXPECT_EQ(trained_parameters(lora({.queries = true, .projection = true})), 3 * 2 * r * (h + h));
  // A token meets two experts of eight: forward, and twice backward.
  const double plain = model_flop_per_sequence(lora({}), {128, 128}).value();
  const double added = model_flop_per_sequence(lora(mlp | LoraTargets{.experts = true}), {128, 128}).value() - plain;
  EXPECT_DOUBLE_EQ(added, 3 * 128 * 2.0 * (others + 2 * met * of_width(routed)));
}

// An expert of eight gets 2 / 8 of 1,024 tokens, and is multiplied with a matrix of its own.
TEST(FineTuning, EveryExpertHasAProductWithItsAdapter) {
  const Transformer lora =
      tuned(with_mixture(), {.method = TuningMethod::kLora, .rank = 4, .targets = {.fc2 = true, .experts = true}});
  const LayerContext context{.sequence = 1024, .fusions = {}};
  const BlockOps layer = decoder_layer(lora, context, {.experts = true});
  EXPECT_EQ(find_mistake(layer), std::nullopt);
  double narrow = 0;
  for (const LayerOp& op : forward_kernels(layer, context))
    if (const auto* shape = std::get_if<GemmShape>(&op.work); shape && op.name == "LoRA A" && shape->batch == 8) {
      EXPECT_EQ(shape->m, 1024 * 2 / 8);
      EXPECT_EQ(shape->k, 96);
      narrow += shape->flop().value();
    }
  EXPECT_EQ(narrow, 2.0 * 1024 * 2 * 4 * 96);
}

// All products of a layer with experts stand in NF4, but the router's of 8 outputs.
TEST(FineTuning, HoldsExpertsInFourBits) {
  const Transformer model = tuned(with_mixture(), {.method = TuningMethod::kQlora, .rank = 4, .targets = kAttention});
  const double attention = 4.0 * 64 * 64, dense = 3.0 * 64 * 256, shared = 3.0 * 64 * 192, routed = 8 * 3.0 * 64 * 96;
  EXPECT_EQ(narrow_parameters(model), 3 * attention + dense + 2 * (shared + routed));
  const LayerContext context{.sequence = 1024, .fusions = {}};
  double read = 0;
  for (const LayerOp& op : forward_kernels(decoder_layer(model, context, {.experts = true}), context))
    if (op.name == "dequantise weight") read += std::get<MemoryBoundShape>(op.work).bytes.value();
  EXPECT_NEAR(read / ((kNf4Bytes + 2) * (attention + shared + routed)), 1, 1e-12);
}

// DeepSeek-V2-Lite's kind has its queries from the hidden state, V3's from a narrow vector.
TEST(FineTuning, AdaptersBesideLatentAttention) {
  Transformer model = with_mixture();
  model.experts.reset();
  const double r = 4, h = 64, heads = 4, nope = 16, rope = 8, value = 16, kv = 32, query = 48, layers = 3;
  const auto trained = [&](std::int64_t query_rank) {
    model.latent =
        LatentAttention{.query_rank = query_rank, .kv_rank = 32, .nope_dim = 16, .rope_dim = 8, .value_dim = 16};
    return trained_parameters(tuned(model, {.method = TuningMethod::kLora, .rank = 4, .targets = kAttentionTargets}));
  };
  const double outputs = heads * (nope + rope);
  const double rest = (h + kv + rope) + (kv + heads * (nope + value)) + (heads * value + h);
  EXPECT_EQ(trained(0), layers * r * (h + outputs + rest));
  EXPECT_EQ(trained(48), layers * r * (h + query + query + outputs + rest));
}

double weight_gradient_flop(const OpList& ops) {
  double flop = 0;
  for (const LayerOp& op : ops)
    if (const auto* shape = std::get_if<GemmShape>(&op.work); shape && shape->pass == GemmPass::kWeightGradient)
      flop += shape->flop().value();
  return flop;
}

TEST(FineTuning, RunsNoProductForTheGradientOfAFrozenWeight) {
  const LayerContext context{.sequence = 2048, .fusions = {}};
  for (const auto method :
       {TuningMethod::kLora, TuningMethod::kQlora, TuningMethod::kInt8Lora, TuningMethod::kAdapter}) {
    const Transformer model = tuned(llama_3b(), {.method = method, .rank = 16, .targets = kAttention});
    const BlockOps layer = dense_layer(model, context);
    double matrices = 0;
    for (const Weight& weight : trained_weights(layer).weights)
      if (weight.kind == WeightKind::kMatrix) matrices += real(weight.rows) * real(weight.columns);
    EXPECT_EQ(weight_gradient_flop(backward_kernels(layer, context)), 2.0 * 2048 * matrices) << name_of(method);
    EXPECT_EQ(weight_gradient_flop(backward_kernels(head_block(model, context), context)), 0) << name_of(method);
  }
}

// Products of frozen weights take a forward pass and a gradient of their input: two thirds of training.
TEST(FineTuning, CountsTwoThirdsOfTheOperationsOfFrozenProducts) {
  const Transformer plain = llama_3b();
  const Transformer prompts = tuned(plain, {.method = TuningMethod::kPromptTuning, .virtual_tokens = 20});
  const double s = 1024, layers = 28;
  const double products = 2 * s * (layers * layer_matmul_parameters(plain) + 128256.0 * 3072);
  EXPECT_EQ(model_flop_per_sequence(plain, 1024).value() - model_flop_per_sequence(prompts, 1024).value(), products);
}

// Without gradients of its weights a layer keeps no input of a product: neither norm's output nor fc2's input.
TEST(FineTuning, KeepsNoInputOfAFrozenProduct) {
  const Transformer plain = llama_3b();
  const LayerContext context{.sequence = 1024, .fusions = {}};
  const auto kept = [&](const Transformer& model) {
    return layer_activation_bytes(model, context, RecomputeGranularity::kNone).value();
  };
  const Transformer prompts = tuned(plain, {.method = TuningMethod::kPromptTuning, .virtual_tokens = 20});
  const double tokens = 1024, h = 3072, f = 8192;
  EXPECT_EQ(kept(plain) - kept(prompts), tokens * (4 * h + 2 * f));
  // LoRA beside fc2 needs its input again, and keeps the output of A.
  const Transformer lora = tuned(plain, {.method = TuningMethod::kLora, .rank = 16, .targets = {.fc2 = true}});
  EXPECT_EQ(kept(lora) - kept(prompts), tokens * (2 * f + 2 * 16));
}

TEST(FineTuning, DifferentiatesNothingBelowTheLowestTrainedWeight) {
  const LayerContext context{.sequence = 1024, .fusions = {}};
  const Transformer lora = tuned(llama_3b(), kPublished[1].tuning);
  EXPECT_TRUE(backward_kernels(embedding_block(lora, context), context).empty());
  EXPECT_EQ(embedding_activation_bytes(lora, context).value(), 0);
  const Transformer prompts = tuned(llama_3b(), {.method = TuningMethod::kPTuning, .virtual_tokens = 20});
  EXPECT_FALSE(backward_kernels(embedding_block(prompts, context), context).empty());
}

// arXiv:2305.14314 section 3: 4 bit a weight, and 0.127 bit for the constants of double quantisation.
TEST(FineTuning, HoldsNf4WeightsInFourBitsAndTheirConstants) {
  EXPECT_NEAR(8 * kNf4Bytes, 4.127, 0.0005);
  const Transformer model = tuned(llama_3b(), {.method = TuningMethod::kQlora, .rank = 8, .targets = kAttention});
  EXPECT_EQ(narrow_parameters(model), 28 * layer_matmul_parameters(llama_3b()));
  const LayerContext context{.sequence = 1024, .fusions = {}};
  double read = 0;
  for (const LayerOp& op : forward_kernels(dense_layer(model, context), context))
    if (op.name == "dequantise weight") read += std::get<MemoryBoundShape>(op.work).bytes.value();
  EXPECT_NEAR(read / ((kNf4Bytes + 2) * layer_matmul_parameters(llama_3b())), 1, 1e-12);
}

// arXiv:2208.07339 section 3: rows of inputs and outputs of weights are quantised, products run in int8. bitsandbytes
// multiplies in 16 bit backward, with a copy of the weight.
TEST(FineTuning, MultipliesInInt8ForwardAndIn16BitBackward) {
  const Transformer model = tuned(llama_3b(), {.method = TuningMethod::kInt8Lora, .rank = 8, .targets = kAttention});
  EXPECT_EQ(narrow_parameters(model), 28 * layer_matmul_parameters(llama_3b()));
  LayerContext context{.sequence = 1024, .fusions = {}};
  const auto int8_flop = [&](const OpList& ops) {
    double flop = 0;
    for (const LayerOp& op : ops)
      if (const auto* shape = std::get_if<GemmShape>(&op.work); shape && shape->precision == Precision::kInt8)
        flop += shape->flop().value();
    return flop;
  };
  const auto bytes_of = [&](const OpList& ops, std::string_view name) {
    double bytes = 0;
    for (const LayerOp& op : ops)
      if (op.name == name) bytes += std::get<MemoryBoundShape>(op.work).bytes.value();
    return bytes;
  };
  const double weights = layer_matmul_parameters(llama_3b()), tokens = 1024, h = 3072, f = 8192;
  EXPECT_EQ(int8_flop(forward_kernels(dense_layer(model, context), context)), 0) << "without a law of int8";
  context.int8_products = true;
  const BlockOps layer = dense_layer(model, context);
  const OpList forward = forward_kernels(layer, context), backward = backward_kernels(layer, context);
  EXPECT_DOUBLE_EQ(int8_flop(forward), 2 * tokens * weights);
  EXPECT_EQ(int8_flop(backward), 0);
  EXPECT_DOUBLE_EQ(bytes_of(backward, "dequantise weight"), 7 * weights);
  // q, k and v, gate and up each quantise their input; outputs are qkv, the projection's, gate and up, and fc2's.
  EXPECT_DOUBLE_EQ(bytes_of(forward, "quantise input"), 16 * tokens * (3 * h + h + 2 * h + f));
  EXPECT_DOUBLE_EQ(bytes_of(forward, "dequantise output"), 16 * tokens * (5120 + h + 2 * f + h));
}

// MatMul8bitLt names its input in the context of the backward pass.
TEST(FineTuning, KeepsTheInputOfAnInt8Product) {
  const LayerContext context{.sequence = 1024, .fusions = {}};
  const auto kept = [&](TuningMethod method) {
    return layer_activation_bytes(tuned(llama_3b(), {.method = method, .rank = 8, .targets = {.queries = true}}),
                                  context, RecomputeGranularity::kNone)
        .value();
  };
  const double tokens = 1024, h = 3072, f = 8192;
  EXPECT_EQ(kept(TuningMethod::kInt8Lora) - kept(TuningMethod::kLora), tokens * (2 * h + 2 * f)) << "fc1's and fc2's";
}

TEST(FineTuning, TunedBlocksReadOnlyWhatIsWritten) {
  for (const auto method : {TuningMethod::kLora, TuningMethod::kQlora, TuningMethod::kInt8Lora, TuningMethod::kAdapter,
                            TuningMethod::kPTuning, TuningMethod::kPromptTuning}) {
    const FineTuning tuning{.method = method, .rank = 4, .targets = kAttention, .virtual_tokens = 10};
    const LayerContext context{.sequence = 1024, .tensor = 4, .sequence_parallel = true, .fusions = {}};
    const Transformer model = tuned(llama_3b(), tuning);
    for (const BlockOps& block :
         {dense_layer(model, context), embedding_block(model, context), head_block(model, context)})
      EXPECT_EQ(find_mistake(block), std::nullopt) << name_of(method);
  }
}

FineTuning with_whole(WholeParts whole) {
  return {.method = TuningMethod::kLora, .rank = 8, .targets = kAttention, .whole = whole};
}

// Llama 3.2 3B ties its embedding and its head: copies of them are two.
TEST(WholeParts, TrainACopyOfEachBesideTheModel) {
  constexpr double kTable = 128256.0 * 3072;
  const Transformer lora = tuned(llama_3b(), with_whole({}));
  constexpr std::pair<WholeParts, double> kCopies[] = {
      {{.embedding = true}, 1}, {{.head = true}, 1}, {{.embedding = true, .head = true}, 2}};
  for (const auto& [parts, copies] : kCopies) {
    SCOPED_TRACE(name_of(parts));
    const Transformer whole = tuned(llama_3b(), with_whole(parts));
    EXPECT_EQ(trained_parameters(whole), trained_parameters(lora) + copies * kTable);
    EXPECT_EQ(copied_parameters(whole), copies * kTable);
    EXPECT_EQ(total_parameters(whole), total_parameters(lora)) << "the model's and the adapters'";
    EXPECT_EQ(active_parameters(whole), active_parameters(lora));
  }
}

TEST(WholeParts, TheBiasOfAHeadTrainsWithIt) {
  Transformer model = llama_3b();
  model.head_bias = true;
  EXPECT_EQ(copied_parameters(tuned(model, with_whole({.head = true}))), 128256.0 * (3072 + 1));
}

// One table in each block stays frozen. Its copy is split over tensor ranks and padded as it is.
TEST(WholeParts, EveryTensorRankHasItsShareOfACopy) {
  const LayerContext context{.sequence = 1024, .tensor = 4, .sequence_parallel = true, .fusions = {}};
  const double share = 128512.0 * 3072 / 4;  // 128256 rows are padded to a multiple of 512
  const Transformer whole = tuned(llama_3b(), with_whole({.embedding = true, .head = true}));
  const BlockOps embedding = embedding_block(whole, context), head = head_block(whole, context);
  for (const BlockOps* block : {&embedding, &head}) {
    EXPECT_EQ(find_mistake(*block), std::nullopt);
    EXPECT_EQ(local_parameters(trained_weights(*block), context), share);
    EXPECT_EQ(local_table(*block, context), share);
    EXPECT_EQ(local_table_copy(*block, context), share);
  }
  EXPECT_EQ(local_parameters(embedding, context), 2 * share);
  EXPECT_EQ(local_parameters(head, context), share + 3072) << "the table is the embedding's; the norm";
}

TEST(WholeParts, AHeadRunsTheProductOfItsWeightGradientAndKeepsItsInput) {
  const LayerContext context{.sequence = 1024, .fusions = {}};
  const Transformer lora = tuned(llama_3b(), with_whole({})), whole = tuned(llama_3b(), with_whole({.head = true}));
  const double product = 2.0 * 1024 * 128256 * 3072;
  EXPECT_EQ(weight_gradient_flop(backward_kernels(head_block(whole, context), context)), product);
  EXPECT_EQ(model_flop_per_sequence(whole, 1024).value() - model_flop_per_sequence(lora, 1024).value(), product);
  EXPECT_EQ(head_activation_bytes(whole, context).value() - head_activation_bytes(lora, context).value(),
            2.0 * 1024 * 3072);
  EXPECT_TRUE(backward_kernels(embedding_block(whole, context), context).empty()) << "the embedding is frozen";
}

TEST(WholeParts, AnEmbeddingRunsItsBackwardPass) {
  const LayerContext context{.sequence = 1024, .tensor = 2, .sequence_parallel = true, .fusions = {}};
  const Transformer plain = llama_3b(), whole = tuned(plain, with_whole({.embedding = true}));
  const auto names = [&](const Transformer& model) {
    std::vector<std::string_view> all;
    for (const LayerOp& op : backward_kernels(embedding_block(model, context), context)) all.push_back(op.name);
    return all;
  };
  EXPECT_EQ(names(whole), names(plain));
  EXPECT_EQ(embedding_activation_bytes(whole, context), embedding_activation_bytes(plain, context));
  EXPECT_EQ(weight_gradient_flop(backward_kernels(head_block(whole, context), context)), 0) << "the head is frozen";
}

TEST(PackedSequences, AttendToTheirOwnTokensOnly) {
  LayerContext context{.sequence = 4096, .micro_batch = 2, .packed = 512, .fusions = {}};
  for (const LayerOp& op : forward_kernels(dense_layer(llama_3b(), context), context))
    if (const auto* shape = std::get_if<AttentionShape>(&op.work)) {
      EXPECT_EQ(shape->batch, 16);
      EXPECT_EQ(shape->q_length, 512);
      EXPECT_EQ(shape->kv_length, 512);
    }
}

double memory_traffic(const OpList& ops) {
  double bytes = 0;
  for (const LayerOp& op : ops)
    if (const auto* kernel = std::get_if<MemoryBoundShape>(&op.work)) bytes += kernel->bytes.value();
  return bytes;
}

double kept_bytes(const BlockOps& block) {
  double bytes = 0;
  for (const Op& op : block.ops)
    for (const TensorId id : op.saves) bytes += block[id].bytes;
  return bytes;
}

// GPT: two norms and two residuals of T h elements, four products with 12 h h weights.
TEST(Autocast, KeepsTheStreamInFp32AndCastsEveryWeight) {
  const Transformer model = {.layers = 1,
                             .hidden = 1024,
                             .heads = 16,
                             .kv_heads = 16,
                             .head_dim = 64,
                             .ffn_hidden = 4096,
                             .vocabulary = 50257};
  LayerContext context{.sequence = 512, .micro_batch = 4};
  const BlockOps plain = dense_layer(model, context);
  context.autocast = true;
  const BlockOps cast = dense_layer(model, context);
  const double tokens = 2048, h = 1024, weights = 12 * h * h;
  EXPECT_DOUBLE_EQ(memory_traffic(forward_kernels(cast, context)) - memory_traffic(forward_kernels(plain, context)),
                   2 * (10 + 4) * tokens * h + 6 * weights);
  EXPECT_DOUBLE_EQ(memory_traffic(backward_kernels(cast, context)) - memory_traffic(backward_kernels(plain, context)),
                   2 * (14 + 6 + 6) * tokens * h + 6 * weights);
  EXPECT_DOUBLE_EQ(kept_bytes(cast) - kept_bytes(plain), 2 * 2 * tokens * h + 2 * weights) << "norms' inputs, copies";
  EXPECT_EQ(find_mistake(cast), std::nullopt);
}

TEST(Autocast, WhatRecomputationKeepsIsTheFp32Stream) {
  Transformer t5 = {
      .layers = 2, .hidden = 512, .heads = 8, .kv_heads = 8, .head_dim = 64, .ffn_hidden = 2048, .vocabulary = 32128};
  t5.encoder_decoder = EncoderDecoder{.encoder_layers = 1};
  LayerContext context{.sequence = 512, .micro_batch = 4};
  const double plain = boundary_bytes(t5, context).value();
  const auto input = [&] {
    const BlockOps encoder = half_layer(t5, context, {.half = Half::kEncoder});
    return encoder[encoder.input].bytes;
  };
  const double plain_input = input();
  context.autocast = true;
  EXPECT_EQ(boundary_bytes(t5, context).value(), 2 * plain);
  EXPECT_EQ(input(), 2 * plain_input);
}

TEST(Autocast, FrozenWeightsHaveNoGradientToCast) {
  LayerContext context{.sequence = 512, .micro_batch = 4};
  context.autocast = true;
  const Transformer model = tuned(llama_3b(), {.method = TuningMethod::kLora, .rank = 8, .targets = kAttention});
  const OpList forward = forward_kernels(dense_layer(model, context), context);
  EXPECT_EQ(std::ranges::count(forward, "cast weight", &LayerOp::name), 4);
  for (const LayerOp& op : backward_kernels(dense_layer(model, context), context))
    EXPECT_NE(op.name, "cast weight gradient");
}

// Where norms stand behind attention and MLP, too, no kernel fuses any of the four.
TEST(UnfusedNorms, BehindAPartCostAsMuchAsBeforeIt) {
  Transformer model = llama_3b();
  LayerContext context{.sequence = 512, .micro_batch = 4};
  context.fusions.rms_norm = false;
  const OpList one = backward_kernels(dense_layer(model, context), context);
  model.norm_places = NormPlaces::kBoth;
  const OpList both = backward_kernels(dense_layer(model, context), context);
  EXPECT_DOUBLE_EQ(memory_traffic(both) - memory_traffic(one), 2 * 68 * 2048 * 3072.0);
}

// transformers' NewGELUActivation: eight kernels, three further tensors.
TEST(GeluNew, MovesAndKeepsMoreWhereNothingFusesIt) {
  Transformer model = {.layers = 1,
                       .hidden = 1600,
                       .heads = 25,
                       .kv_heads = 25,
                       .head_dim = 64,
                       .ffn_hidden = 6400,
                       .vocabulary = 50257};
  LayerContext context{.sequence = 1024, .micro_batch = 1};
  context.fusions.gelu_new = false;
  const BlockOps usual = dense_layer(model, context);
  model.gelu_new = true;
  const double elements = 1024 * 6400;
  EXPECT_DOUBLE_EQ(kept_bytes(dense_layer(model, context)) - kept_bytes(usual), 6 * elements);
  EXPECT_DOUBLE_EQ(memory_traffic(forward_kernels(dense_layer(model, context), context)) -
                       memory_traffic(forward_kernels(usual, context)),
                   32 * elements);
  context.fusions.gelu_new = true;
  EXPECT_DOUBLE_EQ(kept_bytes(dense_layer(model, context)), kept_bytes(usual));
}

}  // namespace
}  // namespace foretoken::model
